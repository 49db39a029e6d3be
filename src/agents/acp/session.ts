import type { AgentSession, LaunchRequest, Reply } from '../adapter.ts';
import type { ChildExit } from '../exit.ts';
import { type Fields, fields, isFields, string } from '../json.ts';
import { Outbox } from '../outbox.ts';
import { type Stdout, stdoutOfRecords } from '../stdout.ts';
import { type Verdict, failed, verdictOfExit } from '../verdict.ts';
import { GO_ON, goOnWith } from '../words.ts';
import { type Incoming, type RpcError, readIncoming } from './incoming.ts';
import {
  METHOD_NOT_FOUND,
  type Message,
  VERSION,
  cancel,
  initialize,
  loadSession,
  newSession,
  permission,
  ping,
  prompt,
  resumeSession,
} from './messages.ts';
import { type ModelChoice, readModelChoice } from './model.ts';
import { judge, optionFor } from './permission.ts';
import { readEnd, readTool, readUpdate } from './updates.ts';
import { verdictOf, verdictOfError } from './verdict.ts';
import { Work } from './work.ts';

/** What we wait for an answer to; `told` when there is nothing any more. */
type Phase = 'initializing' | 'opening' | 'settling' | 'choosing' | 'prompting' | 'told';

/** So often an agent is asked whether it still repeats a conversation. */
const MAX_PINGS = 1000;

/** The protocol state of one ACP agent. One request of ours is open at a time. */
export class AcpSession implements AgentSession {
  readonly #request: LaunchRequest;
  readonly #task: string;
  readonly #out: Outbox;
  readonly #stdout: Stdout;
  readonly #work: Work;
  #phase: Phase = 'initializing';
  #lastId = 0;
  #session: string | null;
  /** What the agent said when it opened the session. */
  #choice: ModelChoice = { current: null, choose: null };
  /** What the agent repeats of a session it loads: whether it did, and whether it still does. */
  #hasHistory = false;
  #repeats = false;
  #pings = 0;
  #costBefore: number | null;
  #cancelled = false;
  #strayError: string | null = null;

  constructor(request: LaunchRequest) {
    this.#request = request;
    this.#task = request.task ?? '';
    this.#out = new Outbox(request.task);
    this.#stdout = stdoutOfRecords(this.#out, (record) => this.#take(readIncoming(record)));
    this.#work = new Work(this.#out);
    this.#session = request.resume?.session ?? null;
    // A session that goes on may have cost something before.
    this.#costBefore = request.resume === null ? 0 : null;
  }

  start(): Reply {
    if (this.#session !== null) this.#out.put({ t: 'session', session: this.#session });
    this.#ask('initializing', initialize());
    return this.#out.take();
  }

  push(chunk: Uint8Array): Reply {
    return this.#stdout.push(chunk);
  }

  finish(): Reply {
    return { ...this.#out.take(), closeStdin: true };
  }

  abort(): Reply & { supported: boolean } {
    const supported = this.#phase === 'prompting' && this.#session !== null && !this.#stdout.over;
    if (supported && this.#session !== null) {
      this.#cancelled = true;
      this.#send(cancel(this.#session));
    }
    return { ...this.#out.take(), supported };
  }

  wrapUp(): Reply & { supported: boolean } {
    return { ...this.#out.take(), supported: false };
  }

  steer(): ReturnType<AgentSession['steer']> {
    return { ...this.#out.take(), verdict: this.#stdout.over || this.#phase === 'told' ? 'too-late' : 'unsupported' };
  }

  exited(exit: ChildExit): Reply {
    return this.#stdout.exited(() => {
      if (this.#phase === 'told') this.#out.noteExitAfterEnd(exit);
      else this.#tell(this.#verdictAt(exit));
    });
  }

  /* ---------------------------------------------------------------- what comes */

  #take(incoming: Incoming): void {
    switch (incoming.type) {
      case 'result':
        if (this.#isAwaited(incoming.id)) this.#answered(incoming.result);
        return;
      case 'error':
        if (incoming.id === null) this.#stray(incoming.error.message);
        else if (this.#isAwaited(incoming.id)) this.#refused(incoming.error);
        return;
      case 'request':
        this.#asked(incoming);
        return;
      case 'notification':
        this.#notified(incoming.method, incoming.params);
        return;
      case 'unknown':
        if (incoming.error !== null) this.#strayError ??= incoming.error;
        this.#out.noteUnknown(incoming.name, incoming.error);
    }
  }

  #isAwaited(id: number): boolean {
    if (id === this.#lastId && this.#phase !== 'told') return true;
    if (id === this.#lastId) this.#out.noteSecondEnd();
    else this.#out.note('unknown-record', `an answer to a request that is not open (${id})`);
    return false;
  }

  #answered(result: Fields): void {
    this.#out.progress();
    switch (this.#phase) {
      case 'initializing':
        this.#initialized(result);
        return;
      case 'opening':
        this.#opened(result);
        return;
      case 'settling':
        this.#settle();
        return;
      case 'choosing':
        this.#chosen(readModelChoice(result));
        return;
      case 'prompting': {
        const { reason, tokens } = readEnd(result);
        const { text, truncated } = this.#work.ended({ tokens });
        this.#tell(verdictOf(reason, text, truncated));
        return;
      }
      case 'told':
    }
  }

  #refused(error: RpcError): void {
    switch (this.#phase) {
      case 'initializing':
      case 'opening':
        this.#tell(verdictOfError(error, this.#task, 'protocol'));
        return;
      case 'settling':
        this.#settle();
        return;
      case 'choosing':
        this.#tell(verdictOfError(error, this.#task, 'model-unavailable'));
        return;
      case 'prompting':
        this.#work.ended({ tokens: null });
        // Some agents answer a cancelled prompt with an error.
        this.#tell(
          this.#cancelled ? verdictOf('cancelled', '', false) : verdictOfError(error, this.#task, 'model-error'),
        );
        return;
      case 'told':
    }
  }

  #notified(method: string, params: Fields): void {
    if (method !== 'session/update') {
      // Extensions of the protocol begin with an underscore.
      if (!method.startsWith('_')) this.#out.note('unknown-record', `unknown notification "${method}"`);
      return;
    }
    this.#out.progress();
    if (this.#phase === 'told' || string(params['sessionId']) !== this.#session) return;
    this.#update(fields(params['update']));
  }

  #update(fieldsOfUpdate: Fields): void {
    const update = readUpdate(fieldsOfUpdate);
    // What comes before our prompt is what a loaded session was before.
    const working = this.#phase === 'prompting';
    this.#repeats ||= this.#phase === 'settling';
    switch (update.type) {
      case 'piece':
        if (working) this.#work.piece(update.message, update.text);
        return;
      case 'thought':
        if (working) this.#work.thought();
        return;
      case 'user':
        this.#hasHistory ||= !working;
        return;
      case 'tool':
        if (working) this.#work.tool(update.tool);
        return;
      case 'cost':
        this.#cost(update.amount, update.currency, working);
        return;
      case 'passing':
        return;
      case 'unknown':
        this.#out.note('unknown-record', `unknown update "${update.name}"`);
    }
  }

  /** It is that of the whole session. Nothing is also what a model without a price costs: then it is not known. */
  #cost(amount: number | null, currency: string, working: boolean): void {
    if (amount === null || currency !== 'USD') return;
    if (!working) this.#costBefore = amount;
    else if (this.#costBefore !== null && amount > this.#costBefore) this.#work.cost(amount - this.#costBefore);
  }

  #stray(error: string): void {
    this.#strayError ??= error;
    this.#out.note('unknown-record', `an error that answers nothing: ${error}`);
  }

  /* ---------------------------------------------------------------- what the agent asks */

  #asked({ id, method, params }: Extract<Incoming, { type: 'request' }>): void {
    this.#out.progress();
    if (method === 'session/request_permission') {
      this.#answer(id, { result: this.#permission(params) });
      return;
    }
    this.#out.note('text', `the agent asked for "${method}", which is not offered: refused`);
    this.#answer(id, { error: { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` } });
  }

  #permission(params: Fields): object {
    const call = readTool(fields(params['toolCall']));
    const tool = call.name || this.#work.nameOf(call.id);
    const wanted = judge({ name: tool, kind: call.kind }, this.#request.settings.permissions);
    const working = this.#phase === 'prompting' && !this.#cancelled;
    const option = working ? optionFor(wanted, params['options']) : null;
    // Without an option to say no, an answer that none was chosen is one.
    const answer = option === null ? 'cancelled' : wanted;
    this.#out.put({ t: 'permission', id: call.id, tool, input: call.input, answer });
    if (this.#phase === 'prompting') this.#work.wants();
    // Some agents tell of a tool they asked about only when it has ended.
    if (answer === 'allow') this.#work.tool({ ...call, status: 'in_progress' });
    return permission(option);
  }

  /* ---------------------------------------------------------------- one step after the other */

  #initialized(result: Fields): void {
    const version = result['protocolVersion'];
    if (version !== VERSION) {
      const spoken = typeof version === 'number' ? `version ${version}` : 'another version';
      this.#tell(failed('protocol', `the agent speaks ${spoken} of the Agent Client Protocol, and not ${VERSION}`));
      return;
    }
    const opening = this.#opening(fields(result['agentCapabilities']));
    if (opening === null) this.#tell(failed('protocol', 'the agent cannot go on in an earlier session'));
    else this.#ask('opening', opening);
  }

  #opening(capabilities: Fields): Message | null {
    const { cwd, resume } = this.#request;
    if (resume === null) return newSession(cwd);
    if (isFields(fields(capabilities['sessionCapabilities'])['resume'])) return resumeSession(cwd, resume.session);
    this.#repeats = capabilities['loadSession'] === true;
    return this.#repeats ? loadSession(cwd, resume.session) : null;
  }

  #opened(result: Fields): void {
    const session = string(result['sessionId']);
    if (session !== '' && session !== this.#session) this.#out.put({ t: 'session', session });
    if (session !== '') this.#session = session;
    if (this.#session === null) {
      this.#tell(failed('protocol', 'the agent opened a session and did not name it'));
      return;
    }
    this.#choice = readModelChoice(result);
    this.#settle();
  }

  /** Some agents repeat the conversation after their answer: it is over when nothing more of it comes with another one. */
  #settle(): void {
    if (!this.#repeats || this.#pings === MAX_PINGS) {
      this.#choose();
      return;
    }
    this.#repeats = false;
    this.#pings += 1;
    this.#ask('settling', ping());
  }

  #choose(): void {
    const { model } = this.#request;
    const { current, choose } = this.#choice;
    if (this.#session === null) return;
    if (model === null || model === current) this.#chosen(this.#choice);
    else if (choose === null) {
      this.#tell(
        failed(
          'model-unavailable',
          'the agent lets nobody choose its model: say it in the "command" of its definition',
        ),
      );
    } else this.#ask('choosing', choose(this.#session, model));
  }

  #chosen({ current }: ModelChoice): void {
    const { model } = this.#request;
    if (model !== null && current !== null && current !== model) {
      this.#tell(failed('model-unavailable', `the agent was told to use "${model}", and uses "${current}"`));
      return;
    }
    const used = current ?? model;
    if (used !== null) this.#out.put({ t: 'model', model: used });
    if (this.#session !== null) this.#ask('prompting', prompt(this.#session, this.#text()));
  }

  #text(): string {
    if (this.#request.resume === null) return this.#task;
    return this.#hasHistory ? GO_ON : goOnWith(this.#task);
  }

  /* ---------------------------------------------------------------- the end */

  #tell(verdict: Verdict): void {
    this.#phase = 'told';
    this.#out.put(verdict);
  }

  #verdictAt(exit: ChildExit): Verdict {
    const { openTool } = this.#work;
    this.#work.said();
    return verdictOfExit(exit, { openTool, strayError: this.#strayError, silent: this.#stdout.silent }, this.#task);
  }

  /* ---------------------------------------------------------------- sending */

  #ask(phase: Phase, message: Message): void {
    this.#phase = phase;
    this.#lastId += 1;
    this.#out.send({ jsonrpc: '2.0', id: this.#lastId, ...message });
  }

  #send(message: Message): void {
    this.#out.send({ jsonrpc: '2.0', ...message });
  }

  #answer(id: string | number, answer: { result: object } | { error: object }): void {
    this.#out.send({ jsonrpc: '2.0', id, ...answer });
  }
}
