import { ulid } from 'ulid';
import type { JournalRecord, RunOutput, Status } from '../../machines/protocol.ts';
import { CoxswainError } from '../errors.ts';
import { type Nest, enterNest } from '../nest/index.ts';
import type { ResolvedPlan } from '../plan/index.ts';
import {
  type RunDir,
  type RunResult,
  addActive,
  checkRunId,
  claimOwner,
  createRunDir,
  readResult,
  resolveRoot,
  secureRoot,
} from '../record/index.ts';
import { type RunCommands, commandsOf } from './commands.ts';
import { openRun } from './open.ts';
import { ownerOfThisProcess } from './run.ts';
import { type PlanSource, type SourceOptions, resolveSource } from './source.ts';

export interface StartOptions extends SourceOptions {
  /** State root. Default: COXSWAIN_HOME, else `$XDG_STATE_HOME/coxswain`, else `~/.local/state/coxswain`. */
  root?: string;
  /** A safe id of your own; refused when a run of that id exists. Default: a ulid. */
  id?: string;
  /** Aborting it stops the run, as `stop()` does. */
  signal?: AbortSignal;
}

/**
 * A run in this process. It ends by itself when its plan is done; `close()` (or `await using`) stops it if it has
 * not. Guaranteed: when `ended()` has resolved, every process tree it started was looked for, and the record says what
 * was found. Not guaranteed: anything about the processes if this process is killed by SIGKILL.
 */
export interface Run extends RunCommands, AsyncDisposable {
  readonly id: string;
  /** Its run directory: status.json, events.jsonl, result.json, report.md, attempts/. */
  readonly directory: string;
  /** The status now, as status.json will show it within 100 ms. */
  status(): Status;
  /** The journal from number `from` (default 1) on: what was, then what comes, until the run has ended. */
  events(options?: { from?: number; signal?: AbortSignal }): AsyncIterable<JournalRecord>;
  /** The status now, then the newest each time it changed and you come back for more. Ends with the run. */
  watch(options?: { signal?: AbortSignal }): AsyncIterable<Status>;
  /** SIGKILL to every process known, at once, without asking. The run then ends in good order. */
  kill(): void;
  /** Resolves when the end is on record, or could not be recorded (`recorded: false`). Never rejects. */
  ended(): Promise<RunOutput>;
  /** The result file of the run, once it has ended. Rejects with `record-failed` where there is none. */
  result(): Promise<RunResult>;
  /** Stops the run if it goes on, and waits for its end. */
  close(): Promise<void>;
  /** This process got a signal and is about to end: the run ends with that cause. */
  signalled(signal: NodeJS.Signals): void;
  /** Something outside the run has failed so that it cannot go on: it ends as crashed. */
  fault(error: unknown): void;
}

/**
 * Starts a plan in this process. Resolves when the run exists and its first steps are being prepared; their processes
 * come after that. Adds no handlers of its own to the process (write-file-atomic has
 * some while it replaces a file), prints nothing.
 *
 * @throws CoxswainError `plan-invalid`, `root-refused`, `bad-id`, `run-exists`, `nest-refused`, `record-failed`. Nothing
 * was started then.
 */
export async function start(source: PlanSource, options: StartOptions = {}): Promise<Run> {
  const plan = await resolveSource(source, options);
  const { dir, nest } = createRun(plan, options);
  return begin(plan, dir, { ...options, nest });
}

/** Makes the run directory, in the nest that this process is in, if it is in one. @throws CoxswainError */
export function createRun(
  plan: ResolvedPlan,
  options: Pick<StartOptions, 'root' | 'id' | 'env'>,
): { dir: RunDir; nest: Nest | null } {
  const { root, env = process.env, id = ulid() } = options;
  const checked = checkRunId(id);
  if (checked.type === 'refused') throw new CoxswainError('bad-id', checked.message);
  const entered = enterNest({ env, root, run: id });
  switch (entered.type) {
    case 'refused':
      throw new CoxswainError('nest-refused', entered.message);
    case 'top':
      return { dir: makeRunDir(openRoot(options), id, plan), nest: null };
    case 'nested':
      try {
        return { dir: makeRunDir(entered.nest.root, id, plan), nest: entered.nest };
      } catch (error) {
        entered.leave();
        throw error;
      }
  }
}

function makeRunDir(root: string, id: string, plan: ResolvedPlan): RunDir {
  const created = createRunDir(root, id, plan);
  switch (created.type) {
    case 'ok':
      return created.dir;
    case 'exists':
      throw new CoxswainError(
        'run-exists',
        `there is a run with the id ${created.dir.id} already: choose another --id`,
      );
    case 'refused':
      throw new CoxswainError('bad-id', created.message);
    case 'trouble':
      throw new CoxswainError('record-failed', `the run directory could not be made in ${root}: ${created.message}`);
  }
}

/** The state root, made and checked. @throws CoxswainError */
export function openRoot({ root, env = process.env }: Pick<StartOptions, 'root' | 'env'>): string {
  const resolved = resolveRoot({ root, env });
  const secured = resolved.type === 'ok' ? secureRoot(resolved.root) : resolved;
  if (secured.type === 'refused') throw new CoxswainError('root-refused', secured.message);
  return secured.root;
}

/** Owns a run directory that was just made, and starts its plan. @throws CoxswainError */
export async function begin(
  plan: ResolvedPlan,
  dir: RunDir,
  options: Pick<StartOptions, 'env' | 'signal'> & { nest: Nest | null },
): Promise<Run> {
  const owner = ownerOfThisProcess();
  const claim = claimOwner(dir, 1, owner);
  if (claim.type === 'taken')
    throw new CoxswainError('run-exists', `run ${dir.id} is owned by process ${claim.owner?.pid}`);
  if (claim.type === 'trouble')
    throw new CoxswainError('record-failed', `run ${dir.id} could not be claimed: ${claim.message}`);
  const marked = addActive(dir);
  if (marked.type === 'trouble') throw new CoxswainError('record-failed', `run ${dir.id}: ${marked.message}`);
  const { env = process.env, nest } = options;
  const opened = openRun({ plan, dir, owner, nest, env: definedOnly(env) });
  opened.runtime.start();
  opened.listen();
  return runOf(opened, dir, options.signal);
}

function runOf(opened: ReturnType<typeof openRun>, dir: RunDir, signal: AbortSignal | undefined): Run {
  const { runtime } = opened;
  const commands = commandsOf(opened);
  const onAbort = (): void => void commands.stop({ source: 'abort-signal' });
  if (signal?.aborted === true) onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });
  const ended = runtime.done.finally(() => signal?.removeEventListener('abort', onAbort));
  const close = async (): Promise<void> => {
    await commands.stop({ source: 'close' });
    await ended;
  };
  return {
    id: dir.id,
    directory: dir.path,
    status: () => runtime.status(),
    events: (wanted) => opened.events(wanted),
    watch: (wanted) => opened.watch(wanted),
    ...commands,
    kill: () => runtime.killNow(),
    ended: () => ended,
    async result() {
      await ended;
      const reading = readResult(dir);
      if (reading.type === 'ok') return reading.value;
      throw new CoxswainError('record-failed', `run ${dir.id} has no readable result in ${dir.result}`);
    },
    close,
    signalled: (name) => runtime.end({ type: 'runner-signal', at: new Date().toISOString(), signal: name }),
    fault: (error) => runtime.fault(error),
    [Symbol.asyncDispose]: close,
  };
}

/** An environment without its holes. */
export function definedOnly(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const defined: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) if (value !== undefined) defined[name] = value;
  return defined;
}
