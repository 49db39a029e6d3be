import { Answer } from '../answer.ts';
import type { Outbox } from '../outbox.ts';
import type { Ended, ToolNews } from './updates.ts';

/** What an agent does with one prompt: its answer, its tools, what it uses. */
export class Work {
  readonly #out: Outbox;
  /** What was said since the last tool. */
  readonly #answer = new Answer();
  #message = '';
  readonly #tools = new Map<string, Tool>();
  /** Nobody counts the turns for us: what comes after a tool's end is a new one. */
  #stage: 'none' | 'speaking' | 'tools' | 'tools-ended' = 'none';
  #used = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, turns: 0, tools: 0 };
  #costUsd: number | null = null;

  constructor(out: Outbox) {
    this.#out = out;
  }

  piece(message: string, text: string): void {
    if (text === '') return;
    this.thought();
    // Another message; what was said before it is no answer.
    if (message !== this.#message) this.said();
    this.#message = message;
    this.#answer.add(text);
  }

  thought(): void {
    if (this.#stage !== 'speaking') this.#used.turns += 1;
    this.#stage = 'speaking';
  }

  tool(news: ToolNews): void {
    const tool = this.#tools.get(news.id) ?? { name: '', input: null, state: 'known' };
    if (tool.state === 'ended') return;
    if (news.name !== '' && tool.state === 'known') tool.name = news.name;
    if (news.input !== null && tool.state === 'known') tool.input = news.input;
    this.#tools.set(news.id, tool);
    if (news.status === 'pending') return;
    if (tool.state === 'known') this.#start(news.id, tool);
    if (news.status === 'completed' || news.status === 'failed') this.#end(news, tool);
  }

  /** The model wants a tool. An agent that was told no may say nothing more about it. */
  wants(): void {
    if (this.#stage === 'none' || this.#stage === 'tools-ended') this.#used.turns += 1;
    this.#stage = 'tools';
    this.said();
  }

  #start(id: string, tool: Tool): void {
    this.wants();
    tool.state = 'open';
    tool.name ||= 'tool';
    this.#used.tools += 1;
    this.#out.put({ t: 'toolStart', id, name: tool.name, input: tool.input });
    this.#tellUsage();
  }

  #end({ id, status, output, truncated }: ToolNews, tool: Tool): void {
    tool.state = 'ended';
    tool.input = null;
    this.#out.put({ t: 'toolEnd', id, name: tool.name, ok: status === 'completed', output, truncated });
    if (this.#stage === 'tools' && this.openTool === null) this.#stage = 'tools-ended';
  }

  /** The tool that was begun last and has not ended; one that waits to begin counts. */
  get openTool(): string | null {
    const open = [...this.#tools.values()].findLast(({ state }) => state !== 'ended');
    return open === undefined ? null : open.name || 'tool';
  }

  nameOf(id: string): string {
    return this.#tools.get(id)?.name ?? '';
  }

  /** Of all of this child's work, in US dollars. */
  cost(costUsd: number): void {
    this.#costUsd = costUsd;
    this.#tellUsage();
  }

  /** The answer, at the end of the work. */
  ended({ tokens }: Pick<Ended, 'tokens'>): { text: string; truncated: boolean } {
    const { text, truncated } = this.#answer;
    this.said();
    this.#used = { ...this.#used, ...tokens };
    this.#tellUsage();
    return { text, truncated };
  }

  /** What was said so far is a whole. */
  said(): void {
    const { text } = this.#answer;
    if (text !== '') this.#out.put({ t: 'message', role: 'assistant', text });
    this.#answer.clear();
    this.#message = '';
  }

  #tellUsage(): void {
    const usage = { ...this.#used };
    this.#out.put({ t: 'usage', usage: this.#costUsd === null ? usage : { ...usage, costUsd: this.#costUsd } });
  }
}

interface Tool {
  name: string;
  input: unknown;
  /** `known`: announced, and not begun. */
  state: 'known' | 'open' | 'ended';
}
