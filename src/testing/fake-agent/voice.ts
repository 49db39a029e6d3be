import type { FakeUsage, StopReason } from './wire.ts';

export interface Ending {
  text: string;
  stopReason: StopReason;
  errorMessage: string | null;
  usage: FakeUsage;
}

export interface VoiceOptions {
  emit: (record: Record<string, unknown>) => void;
  /** Milliseconds since 1970. */
  now: () => number;
  /** `provider/id`. */
  model: string;
  sessionId: string;
  /** Messages of the session from before. */
  earlier: number;
  /** Called with each answer: then there is something to keep. */
  answered: () => void;
}

interface OpenTool {
  id: string;
  name: string;
}

type Message = Record<string, unknown>;

/** pi's two queues of messages for the running work. */
type Queue = 'steering' | 'followUp';

const NOTHING_USED: FakeUsage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, costUsd: 0 };

/**
 * pi's records, in the order and shape of version 0.73. Says what it is told, and keeps only what the next
 * record needs: whether a run is open, its messages, its open tools.
 */
export class Voice {
  readonly #options: VoiceOptions;
  readonly #origin: { api: string; provider: string; model: string };
  #open = false;
  #messages: Message[] = [];
  #tools: OpenTool[] = [];
  #toolCount = 0;
  readonly #queues: Record<Queue, string[]> = { steering: [], followUp: [] };

  constructor(options: VoiceOptions) {
    const slash = options.model.indexOf('/');
    this.#options = options;
    this.#origin = {
      api: 'fake',
      provider: options.model.slice(0, Math.max(slash, 0)),
      model: options.model.slice(slash + 1),
    };
  }

  /** A run is open: the agent is at work. */
  get busy(): boolean {
    return this.#open;
  }

  session(cwd: string): void {
    const { sessionId: id, now } = this.#options;
    this.#emit({ type: 'session', version: 3, id, timestamp: new Date(now()).toISOString(), cwd });
  }

  /** A run for this task begins, and what waits for the next tool boundary goes along. */
  begin(task: string): void {
    this.#openRun();
    this.#user(task);
    if (this.#queues.steering.length > 0) this.take();
  }

  /** A message for the running work, which waits until `take`. */
  queue(queue: Queue, text: string): void {
    this.#queues[queue].push(text);
    this.#tellQueues();
  }

  /** The first message that waits becomes part of the conversation, as at the end of a turn. Null: none waits. */
  take(): string | null {
    const text = this.#queues.steering.shift() ?? this.#queues.followUp.shift();
    if (text === undefined) return null;
    this.#openRun();
    this.#tellQueues();
    this.#user(text);
    return text;
  }

  /** An assistant message after which the run goes on. Opens a run when none is open, as all that follow do. */
  say(text: string, usage: FakeUsage): void {
    this.#openRun();
    this.#whole(this.#assistant({ text, stopReason: 'toolUse', errorMessage: null, usage }));
  }

  partial(text: string): void {
    this.#openRun();
    const partial = this.#assistant({ text, stopReason: 'stop', errorMessage: null, usage: NOTHING_USED });
    const event = { type: 'text_delta', contentIndex: 0, delta: text, partial };
    this.#emit({ type: 'message_update', assistantMessageEvent: event, message: partial });
  }

  toolStart(name: string, input: unknown): void {
    this.#openRun();
    this.#toolCount += 1;
    const id = `call_${this.#toolCount}`;
    this.#tools.push({ id, name });
    this.#emit({ type: 'tool_execution_start', toolCallId: id, toolName: name, args: input });
  }

  /** Ends the tool of that name that was started last; false when there is none. */
  toolEnd(name: string, ok: boolean, output: string): boolean {
    const tool = this.#tools.findLast((candidate) => candidate.name === name);
    if (tool === undefined) return false;
    this.#endTool(tool, ok, output);
    if (this.#tools.length > 0) return true;
    this.#turnEnd();
    this.#emit({ type: 'turn_start' });
    return true;
  }

  finish(ending: Ending): void {
    this.#openRun();
    this.#whole(this.#assistant(ending));
    this.#turnEnd();
    this.#emit({ type: 'agent_end', messages: this.#messages });
    this.#open = false;
    this.#tools = [];
  }

  /** Drops what is running; nothing when no run is open. */
  abort(): void {
    if (!this.#open) return;
    const inTool = this.#tools.length > 0;
    for (const tool of this.#tools) this.#endTool(tool, false, 'Command aborted');
    // As pi does: what waits is taken into the turn that is dropped.
    if (inTool && this.#queues.steering.length > 0) this.take();
    this.finish({ text: '', stopReason: 'aborted', errorMessage: 'Request was aborted.', usage: NOTHING_USED });
  }

  /** The answer to a command of the two-way mode. */
  answer(command: string, id: unknown, answer: { data?: unknown } | { error: string }): void {
    const named = id === undefined ? {} : { id };
    this.#emit({ ...named, type: 'response', command, success: !('error' in answer), ...answer });
  }

  /** What `get_state` says. */
  state(): Record<string, unknown> {
    const { api, provider, model } = this.#origin;
    return {
      model: { id: model, provider, api },
      thinkingLevel: 'off',
      isStreaming: this.#open,
      isCompacting: false,
      steeringMode: 'one-at-a-time',
      followUpMode: 'one-at-a-time',
      sessionId: this.#options.sessionId,
      autoCompactionEnabled: false,
      messageCount: this.#options.earlier + this.#messages.length,
      pendingMessageCount: this.#queues.steering.length + this.#queues.followUp.length,
    };
  }

  #user(text: string): void {
    this.#whole({ role: 'user', content: textContent(text), timestamp: this.#options.now() });
  }

  #tellQueues(): void {
    const { steering, followUp } = this.#queues;
    this.#emit({ type: 'queue_update', steering: [...steering], followUp: [...followUp] });
  }

  #emit(record: Record<string, unknown>): void {
    this.#options.emit(record);
  }

  #openRun(): void {
    if (this.#open) return;
    this.#open = true;
    this.#messages = [];
    this.#emit({ type: 'agent_start' });
    this.#emit({ type: 'turn_start' });
  }

  #whole(message: Message): void {
    this.#messages.push(message);
    const isAnswer = message['role'] === 'assistant';
    if (isAnswer) this.#options.answered();
    const start = isAnswer ? { ...message, content: [], usage: usageRecord(NOTHING_USED) } : message;
    this.#emit({ type: 'message_start', message: start });
    this.#emit({ type: 'message_end', message });
  }

  #assistant({ text, usage, stopReason, errorMessage }: Ending): Message {
    return {
      role: 'assistant',
      content: text === '' ? [] : textContent(text),
      ...this.#origin,
      usage: usageRecord(usage),
      stopReason,
      timestamp: this.#options.now(),
      ...(errorMessage === null ? {} : { errorMessage }),
    };
  }

  #endTool(tool: OpenTool, ok: boolean, output: string): void {
    this.#tools = this.#tools.filter((other) => other !== tool);
    const call = { toolCallId: tool.id, toolName: tool.name };
    const content = textContent(output);
    this.#emit({ type: 'tool_execution_end', ...call, result: { content }, isError: !ok });
    this.#whole({ role: 'toolResult', ...call, content, isError: !ok, timestamp: this.#options.now() });
  }

  #turnEnd(): void {
    const message = this.#messages.findLast(({ role }) => role === 'assistant') ?? null;
    this.#emit({ type: 'turn_end', message, toolResults: [] });
  }
}

function textContent(text: string): { type: 'text'; text: string }[] {
  return [{ type: 'text', text }];
}

function usageRecord({ input = 0, output = 0, cacheRead = 0, cacheWrite = 0, costUsd = 0 }: FakeUsage): Message {
  const totalTokens = input + output + cacheRead + cacheWrite;
  // pi leaves it out of no message: that of a model without a price is 0.
  return { input, output, cacheRead, cacheWrite, totalTokens, cost: { total: costUsd } };
}
