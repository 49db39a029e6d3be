import type { AgentSession, LaunchRequest, PermissionAnswer, Reply } from '../adapter.ts';
import type { ChildExit } from '../exit.ts';
import { type Fields, fields, string } from '../json.ts';
import { Outbox } from '../outbox.ts';
import { Permissions } from '../permissions.ts';
import { type Stdout, stdoutOfRecords } from '../stdout.ts';
import { type Verdict, verdictOfExit } from '../verdict.ts';
import { type Incoming, type RpcError, readIncoming } from './incoming.ts';
import { METHOD_NOT_FOUND, type Message, cancel, permission, prompt } from './messages.ts';
import { type Next, Opening } from './opening.ts';
import { optionFor } from './permission.ts';
import { readEnd, readTool, readUpdate } from './updates.ts';
import { verdictOf, verdictOfError } from './verdict.ts';
import { Work } from './work.ts';

/** The protocol state of one ACP agent. One request of ours is open at a time. */
export class AcpSession implements AgentSession {
  readonly #out: Outbox;
  readonly #stdout: Stdout;
  readonly #opening: Opening;
  readonly #work: Work;
  readonly #permissions: Permissions;
  /** What we wait for an answer to; `told` when there is nothing any more. */
  #phase: 'opening' | 'prompting' | 'told' = 'opening';
  #lastId = 0;
  #costBefore: number | null;
  #cancelled = false;
  #strayError: string | null = null;

  constructor(request: LaunchRequest) {
    this.#out = new Outbox(request.task);
    this.#stdout = stdoutOfRecords(this.#out, (record) => this.#take(readIncoming(record)));
    this.#opening = new Opening(request, this.#out);
    this.#work = new Work(this.#out);
    this.#permissions = new Permissions(this.#out, request.settings.permissions);
    // A session that goes on may have cost something before.
    this.#costBefore = request.resume === null ? 0 : null;
  }

  start(): Reply {
    this.#goOn(this.#opening.begin());
    return this.#out.take();
  }

  push(chunk: Uint8Array): Reply {
    return this.#stdout.push(chunk);
  }

  finish(): Reply {
    return { ...this.#out.take(), closeStdin: true };
  }

  abort(): Reply & { supported: boolean } {
    const { session } = this.#opening;
    if (this.#phase !== 'prompting' || session === null || this.#stdout.over) {
      return { ...this.#out.take(), supported: false };
    }
    this.#cancelled = true;
    this.#permissions.close();
    this.#send(cancel(session));
    return { ...this.#out.take(), supported: true };
  }

  wrapUp(): Reply & { supported: boolean } {
    return { ...this.#out.take(), supported: false };
  }

  steer(): ReturnType<AgentSession['steer']> {
    return { ...this.#out.take(), verdict: this.#stdout.over || this.#phase === 'told' ? 'too-late' : 'unsupported' };
  }

  answer(ask: string, answer: PermissionAnswer): Reply {
    this.#permissions.answer(ask, answer);
    return this.#out.take();
  }

  exited(exit: ChildExit): Reply {
    return this.#stdout.exited(() => {
      this.#permissions.close();
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
      case 'opening':
        this.#goOn(this.#opening.answered(result));
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
      case 'opening':
        this.#goOn(this.#opening.refused(error));
        return;
      case 'prompting':
        this.#work.ended({ tokens: null });
        // Some agents answer a cancelled prompt with an error.
        this.#tell(
          this.#cancelled ? verdictOf('cancelled', '', false) : verdictOfError(error, this.#out.told, 'model-error'),
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
    if (this.#phase === 'told' || string(params['sessionId']) !== this.#opening.session) return;
    this.#update(fields(params['update']));
  }

  #update(fieldsOfUpdate: Fields): void {
    const update = readUpdate(fieldsOfUpdate);
    const working = this.#phase === 'prompting';
    if (!working) this.#opening.saw(update);
    switch (update.type) {
      case 'piece':
        if (working) this.#work.piece(update.message, update.text);
        return;
      case 'thought':
        if (working) this.#work.thought();
        return;
      case 'tool':
        if (working) this.#work.tool(update.tool);
        return;
      case 'cost':
        this.#cost(update.amount, update.currency, working);
        return;
      case 'user':
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
      this.#permission(id, params);
      return;
    }
    this.#out.note('text', `the agent asked for "${method}", which is not offered: refused`);
    this.#answer(id, { error: { code: METHOD_NOT_FOUND, message: `Method not found: ${method}` } });
  }

  #permission(id: string | number, params: Fields): void {
    const call = readTool(fields(params['toolCall']));
    const tool = call.name || this.#work.nameOf(call.id);
    if (this.#phase === 'prompting') this.#work.wants();
    const give = (wanted: PermissionAnswer): void => {
      const working = this.#phase === 'prompting' && !this.#cancelled;
      const option = working && wanted.type !== 'cancelled' ? optionFor(wanted.type, params['options']) : null;
      // Without an option to say no, an answer that none was chosen is one.
      const answer = option === null ? 'cancelled' : wanted.type;
      this.#out.put({ t: 'permission', id: call.id, tool, input: call.input, answer });
      // Some agents tell of a tool they asked about only when it has ended.
      if (answer === 'allow') this.#work.tool({ ...call, status: 'in_progress' });
      this.#answer(id, { result: permission(option) });
    };
    if (this.#phase !== 'prompting' || this.#cancelled) give({ type: 'cancelled' });
    else this.#permissions.want({ id: call.id, tool, kind: call.kind, input: call.input }, give);
  }

  /* ---------------------------------------------------------------- the end */

  #tell(verdict: Verdict): void {
    this.#phase = 'told';
    this.#permissions.close();
    this.#out.put(verdict);
  }

  #verdictAt(exit: ChildExit): Verdict {
    const { openTool } = this.#work;
    this.#work.said();
    return verdictOfExit(exit, { openTool, strayError: this.#strayError, silent: this.#stdout.silent }, this.#out.told);
  }

  /* ---------------------------------------------------------------- sending */

  #goOn(next: Next): void {
    switch (next.type) {
      case 'ask':
        this.#ask(next.message);
        return;
      case 'prompt':
        this.#phase = 'prompting';
        this.#ask(prompt(next.session, this.#opening.text));
        return;
      case 'failed':
        this.#tell(next.verdict);
    }
  }

  #ask(message: Message): void {
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
