import { readFileSync } from 'node:fs';
import type { RunDir, Status } from '../../client.ts';
import type { Out } from '../out.ts';
import { Tail } from './tail.ts';
import { TranscriptText } from './transcript.ts';

export interface LogWanted {
  step?: string;
  stderr?: boolean;
  raw?: boolean;
}

/** One file of one attempt that is shown. */
export class LogSource {
  readonly title: string;
  readonly #tail: Tail;
  readonly #text: TranscriptText | null;

  constructor(title: string, path: string, readable: boolean) {
    this.title = title;
    this.#tail = new Tail(path);
    this.#text = readable ? new TranscriptText() : null;
  }

  /** Prints what is new, and returns whether something was. */
  async pump(printer: Printer): Promise<boolean> {
    const bytes = await this.#tail.read(
      (chunk) => printer.print(this.title, this.#text === null ? chunk : this.#text.push(chunk)),
      printer.closed,
    );
    return bytes > 0;
  }
}

/** Makes sources for the attempts of a run as they appear, each once. */
export class LogSources {
  readonly #dir: RunDir;
  readonly #wanted: LogWanted;
  readonly #all = new Map<string, LogSource>();
  #adapters: Map<string, string> | null = null;

  constructor(dir: RunDir, wanted: LogWanted) {
    this.#dir = dir;
    this.#wanted = wanted;
  }

  /** In the order of the plan. */
  of({ steps }: Status): LogSource[] {
    const sources: LogSource[] = [];
    for (const { id, agent, attempt } of steps) {
      if (this.#wanted.step !== undefined && id !== this.#wanted.step) continue;
      for (let n = 1; n <= attempt; n += 1) sources.push(this.#source(id, agent, n));
    }
    return sources;
  }

  #source(step: string, agent: string, n: number): LogSource {
    const title = `${step}#${n}`;
    let source = this.#all.get(title);
    if (source === undefined) {
      const { stderr, stdout, transcript } = this.#dir.attempt(step, n);
      const readable =
        this.#wanted.stderr !== true && this.#wanted.raw !== true && this.#adapterOf(agent) !== 'command';
      source = new LogSource(title, this.#wanted.stderr === true ? stderr : readable ? transcript : stdout, readable);
      this.#all.set(title, source);
    }
    return source;
  }

  /** The output of a command is text already; an agent's is records. */
  #adapterOf(agent: string): string {
    this.#adapters ??= adaptersIn(this.#dir.plan);
    return this.#adapters.get(agent) ?? agent;
  }
}

/** The adapters of the agents that a plan defines, by the agent's name. */
function adaptersIn(plan: string): Map<string, string> {
  try {
    const { agents } = JSON.parse(readFileSync(plan, 'utf8')) as { agents: Record<string, { adapter: string }> };
    return new Map(Object.entries(agents).map(([name, { adapter }]) => [name, adapter]));
  } catch {
    return new Map();
  }
}

/** Prints pieces of several logs, and says whose it is when that changes. */
export class Printer {
  readonly #out: Out;
  readonly #titles: boolean;
  #last: string | null = null;
  #midLine = false;

  constructor(out: Out, titles: boolean) {
    this.#out = out;
    this.#titles = titles;
  }

  get closed(): AbortSignal {
    return this.#out.closed;
  }

  async print(title: string, data: string | Buffer): Promise<void> {
    if (data.length === 0) return;
    if (this.#titles && title !== this.#last) {
      const gap = this.#last === null ? '' : this.#midLine ? '\n\n' : '\n';
      await this.#out.write(`${gap}==> ${title} <==\n`);
    }
    this.#last = title;
    this.#midLine = data.at(-1) !== (typeof data === 'string' ? '\n' : 10);
    await this.#out.write(data);
  }
}
