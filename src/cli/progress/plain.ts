import type { JournalRecord, Run, Status } from '../../index.ts';
import { waitingWords } from '../describe.ts';
import { eventLine } from '../event-line.ts';
import type { Out } from '../out.ts';
import { oneLine, span, tokens } from '../words.ts';
import type { View } from './view.ts';

/** Where nothing happens for so long, a line says what goes on: a log that is silent looks dead. */
const QUIET_MS = 30_000;
/** Between two looks whether somebody waits for an answer. */
const LOOK_MS = 1_000;

const SHOWN: ReadonlySet<JournalRecord['type']> = new Set<JournalRecord['type']>([
  'run.started',
  'run.stopping',
  'step.started',
  'step.settled',
  'persistence.degraded',
  'persistence.restored',
]);

/** A line for every event that matters. */
export function plainView(run: Pick<Run, 'events' | 'status'>, out: Out): View {
  const timer = setInterval(() => out.line(stillGoing(run.status())), QUIET_MS);
  // That somebody in a run below waits is in the status alone: the journal of this run has no events of others.
  let waiting: string | null = null;
  const looks = setInterval(() => {
    const words = waitingWords(run.status());
    if (words !== waiting && words !== null) out.line(`${words}: coxswain asks ${run.status().id}`);
    waiting = words;
  }, LOOK_MS);
  const shown = showEvents();
  return {
    async close() {
      await shown;
      clearInterval(timer);
      clearInterval(looks);
    },
  };

  async function showEvents(): Promise<void> {
    for await (const record of run.events()) {
      if (!SHOWN.has(record.type)) continue;
      out.line(eventLine(record));
      if (record.type === 'run.stopping' && record.cause.type === 'runner-signal') {
        out.line('the same signal again kills at once');
      }
      timer.refresh();
    }
  }
}

function stillGoing(status: Status): string {
  const running = status.steps.filter(({ state }) => state === 'running');
  const words = running
    .slice(0, 3)
    .map(({ id, tool, startedAt, usage }) =>
      [oneLine(id), tool === undefined ? '' : oneLine(tool.name), span(startedAt, undefined), tokens(usage)]
        .filter((part) => part !== '')
        .join(' '),
    );
  const more = running.length > 3 ? `, and ${running.length - 3} more` : '';
  return `${status.state}: ${words.join(', ')}${more}`;
}
