import type { LaunchRequest } from '../adapter.ts';
import { type Fields, fields, isFields, name, string } from '../json.ts';
import type { Outbox } from '../outbox.ts';
import { type Verdict, failed } from '../verdict.ts';
import { firstWords, firstWordsAgain } from '../words.ts';
import type { RpcError } from './incoming.ts';
import {
  type Message,
  VERSION,
  initialize,
  loadSession,
  newSession,
  ping,
  resumeSession,
  serversOf,
} from './messages.ts';
import { type ModelChoice, readModelChoice } from './model.ts';
import type { Update } from './updates.ts';
import { verdictOfError } from './verdict.ts';

/** What follows an answer of the agent: another question, the prompt, or the end. */
export type Next = { type: 'ask'; message: Message } | { type: 'prompt'; session: string } | Failed;
type Failed = { type: 'failed'; verdict: Verdict };

/** So often an agent is asked whether it still repeats a conversation. */
const MAX_PINGS = 1000;

/** All that comes before the prompt: the agent and its session are made ready, one question after the other. */
export class Opening {
  readonly #request: LaunchRequest;
  readonly #out: Outbox;
  /** What we wait for an answer to. */
  #phase: 'initializing' | 'opening' | 'settling' | 'choosing' = 'initializing';
  #session: string | null;
  /** What the agent said when it opened the session. */
  #choice: ModelChoice = { current: null, choose: null };
  /** What the agent repeats of a session it loads: whether it did, and whether it still does. */
  #hasHistory = false;
  #repeats = false;
  #pings = 0;

  constructor(request: LaunchRequest, out: Outbox) {
    this.#request = request;
    this.#out = out;
    this.#session = request.resume?.session ?? null;
  }

  /** Null: it has not been named yet. */
  get session(): string | null {
    return this.#session;
  }

  begin(): Next {
    if (this.#session !== null) this.#out.put({ t: 'session', session: this.#session });
    return ask(initialize());
  }

  /** What comes before our prompt is what a loaded session was before. */
  saw(update: Update): void {
    this.#repeats ||= this.#phase === 'settling';
    this.#hasHistory ||= update.type === 'user';
  }

  answered(result: Fields): Next {
    switch (this.#phase) {
      case 'initializing':
        return this.#initialized(result);
      case 'opening':
        return this.#opened(result);
      case 'settling':
        return this.#settle();
      case 'choosing':
        return this.#chosen(readModelChoice(result));
    }
  }

  refused(error: RpcError): Next {
    switch (this.#phase) {
      case 'initializing':
      case 'opening':
        return { type: 'failed', verdict: verdictOfError(error, this.#out.told, 'protocol') };
      case 'settling':
        return this.#settle();
      case 'choosing':
        return { type: 'failed', verdict: verdictOfError(error, this.#out.told, 'model-unavailable') };
    }
  }

  #initialized(result: Fields): Next {
    const version = result['protocolVersion'];
    if (version !== VERSION) {
      const spoken = typeof version === 'number' ? `version ${version}` : 'another version';
      return fails('protocol', `the agent speaks ${spoken} of the Agent Client Protocol, and not ${VERSION}`);
    }
    this.#phase = 'opening';
    const told = name(fields(result['agentInfo'])['version']);
    if (told !== '') this.#out.put({ t: 'client', client: { version: told } });
    const capabilities = fields(result['agentCapabilities']);
    const unreachable = this.#unreachable(capabilities);
    if (unreachable !== null) return fails('tool-unavailable', unreachable);
    const opening = this.#opening(capabilities);
    return opening === null ? fails('protocol', 'the agent cannot go on in an earlier session') : ask(opening);
  }

  #opening(capabilities: Fields): Message | null {
    const { cwd, resume } = this.#request;
    const servers = serversOf(this.#request);
    if (resume === null) return newSession(cwd, servers);
    if (isFields(fields(capabilities['sessionCapabilities'])['resume']))
      return resumeSession(cwd, resume.session, servers);
    this.#repeats = capabilities['loadSession'] === true;
    return this.#repeats ? loadSession(cwd, resume.session, servers) : null;
  }

  /** Every agent can start a server; one at an address it has to say that it can use. */
  #unreachable(capabilities: Fields): string | null {
    const byUrl = Object.entries(this.#request.settings.mcp ?? {}).find(([, { type }]) => type === 'http');
    if (byUrl === undefined || fields(capabilities['mcpCapabilities'])['http'] === true) return null;
    return `the agent says that it can use no MCP server at an address ("${byUrl[0]}")`;
  }

  #opened(result: Fields): Next {
    const session = string(result['sessionId']);
    if (session !== '' && session !== this.#session) this.#out.put({ t: 'session', session });
    if (session !== '') this.#session = session;
    if (this.#session === null) return fails('protocol', 'the agent opened a session and did not name it');
    this.#choice = readModelChoice(result);
    return this.#settle();
  }

  /** Some agents repeat the conversation after their answer: it is over when nothing more of it comes with another one. */
  #settle(): Next {
    if (!this.#repeats || this.#pings === MAX_PINGS) return this.#choose();
    this.#phase = 'settling';
    this.#repeats = false;
    this.#pings += 1;
    return ask(ping());
  }

  #choose(): Next {
    const { model } = this.#request;
    const { current, choose } = this.#choice;
    if (model === null || model === current) return this.#chosen(this.#choice);
    if (choose === null || this.#session === null) {
      return fails(
        'model-unavailable',
        'the agent lets nobody choose its model: say it in the "command" of its definition',
      );
    }
    this.#phase = 'choosing';
    return ask(choose(this.#session, model));
  }

  #chosen({ current }: ModelChoice): Next {
    const { model } = this.#request;
    if (model !== null && current !== null && current !== model) {
      return fails('model-unavailable', `the agent was told to use "${model}", and uses "${current}"`);
    }
    const used = current ?? model;
    if (used !== null) this.#out.put({ t: 'model', model: used });
    if (this.#session === null) return fails('protocol', 'the agent opened a session and did not name it');
    return { type: 'prompt', session: this.#session };
  }

  /** What the prompt says. */
  get text(): string {
    return this.#hasHistory ? firstWords(this.#request) : firstWordsAgain(this.#request);
  }
}

const ask = (message: Message): Next => ({ type: 'ask', message });
const fails = (...failure: Parameters<typeof failed>): Next => ({ type: 'failed', verdict: failed(...failure) });
