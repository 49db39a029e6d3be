import { type Status, type Waited, wait as waitForEnd } from '../client.ts';
import { EXIT } from './codes.ts';
import { headline } from './describe.ts';
import { type PlaceOptions, failNotFound, failUnreadable, timeOf } from './finding.ts';
import { type Io, fail, printJson } from './io.ts';
import { checkProof } from './proof.ts';

export interface WaitVerbOptions extends PlaceOptions {
  timeout?: string;
  json?: boolean;
}

export async function wait(run: string, options: WaitVerbOptions, io: Io): Promise<number> {
  const time = await timeOf('--timeout', options.timeout);
  if (time.type === 'bad') return fail(io, EXIT.usage, time.message);
  const interrupted = new AbortController();
  const onInterrupt = (): void => interrupted.abort();
  process.on('SIGINT', onInterrupt);
  try {
    const place = { root: options.root, env: io.env };
    const waited = await waitForEnd(run, { ...place, timeoutMs: time.ms, signal: interrupted.signal });
    return await tell(waited, options, io);
  } finally {
    process.off('SIGINT', onInterrupt);
  }
}

async function tell(waited: Waited, options: WaitVerbOptions, io: Io): Promise<number> {
  switch (waited.type) {
    case 'ended':
      await print(waited.status, options, io);
      return checkProof(waited.id, waited.exitCode, options, io);
    case 'timed-out':
      await print(waited.status, options, io);
      return fail(io, EXIT.notEnded, `run ${waited.id} is still going on; it was left alone`);
    case 'aborted':
      return fail(io, EXIT.interrupted, `waiting was interrupted; run ${waited.id} goes on`);
    case 'gone':
      return fail(io, EXIT.missing, `the directory of run ${waited.id} was removed: ${waited.directory}`);
    case 'owner-lost': {
      await print(waited.status, options, io);
      const pid = waited.owner === null ? '' : ` (process ${waited.owner.pid})`;
      return fail(
        io,
        EXIT.unreadable,
        `the runner of ${waited.id} is gone${pid} and the run has not ended: ${waited.dir.path}`,
      );
    }
    case 'corrupt':
    case 'newer':
      return failUnreadable(io, waited);
    case 'missing':
    case 'ambiguous':
      return failNotFound(io, waited);
  }
}

async function print(status: Status | null, { json }: WaitVerbOptions, io: Io): Promise<void> {
  if (status === null) return;
  if (json === true) await printJson(io, status);
  else io.out.line(headline(status));
}
