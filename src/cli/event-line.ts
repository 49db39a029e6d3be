import { type Activity, type JournalRecord, describeProof } from '../client.ts';
import { why } from './describe.ts';
import { count, cut, oneLine } from './words.ts';

const MESSAGE_CHARS = 200;

const ACTIVITIES: Record<Activity, string> = {
  fresh: 'makes progress again',
  quiet: 'has been quiet for a while',
  stalled: 'makes no progress',
  reviewing: 'is done, and its review in the background goes on',
};

/** What happened, in words: a journal record for people. */
export function eventLine(record: JournalRecord): string {
  switch (record.type) {
    case 'run.started':
      return `run ${record.run} started: ${oneLine(record.name)}, ${count(record.steps.length, 'step')}`;
    case 'run.stopping':
      return `run stopping: ${why(record.cause)}`;
    case 'run.deadline-moved':
      return `run deadline moved to ${record.to}${record.to <= record.ts ? ', which is over already' : ''}`;
    case 'clock.jumped':
      return `the wall clock jumped by ${(record.byMs / 1000).toFixed(1)} s`;
    case 'step.extended':
      return `${record.step}: ${record.limitMs === 0 ? 'its time is over' : `has ${(record.limitMs / 1000).toFixed(0)} s from now`}`;
    case 'step.backing-off':
      return `${record.step}: ${oneLine(record.note)}, in ${(record.delayMs / 1000).toFixed(1)} s`;
    case 'step.recovering':
      return `${record.step}#${record.attempt}: ${oneLine(record.note)} (message ${oneLine(record.request)})`;
    case 'activity.changed':
      return `${record.step}#${record.attempt}: ${ACTIVITIES[record.state]}`;
    case 'review.overdue':
      return `${record.step}#${record.attempt}: its review in the background is not waited for any longer (${(record.limitMs / 1000).toFixed(0)} s)`;
    case 'run.appended':
      return `${count(record.steps.length, 'step')} appended: ${cut(record.steps.map(({ id }) => id).join(', '), MESSAGE_CHARS)}`;
    case 'run.finalizing':
      return 'run finalizing';
    case 'run.settled':
      return `run ${record.state}: ${why(record.cause)}`;
    case 'run.completed':
      return 'run over, the record is complete';
    case 'step.started':
      return `${record.step}: started`;
    case 'step.resumed':
      return `${record.step}: resumed`;
    case 'step.settled':
      return `${record.step}: ${record.state}${settledWhy(record)}`;
    case 'session.leased':
      return `${record.step}#${record.attempt}: has the session ${oneLine(record.session)}${takenFrom(record.from)}`;
    case 'session.released':
      return `${record.step}#${record.attempt}: the session ${oneLine(record.session)} is free`;
    case 'persistence.degraded':
      return `the record cannot be written (${record.line}): ${oneLine(record.message)}; trying again`;
    case 'persistence.restored':
      return 'the record can be written again';
    case 'command.accepted':
      return `command ${record.command} accepted from ${oneLine(record.source)}`;
    case 'command.answered':
      return `command ${record.command} ${record.verdict}${record.reason === undefined ? '' : `: ${record.reason}`}`;
    case 'steer.scheduled':
    case 'steer.routed':
    case 'steer.recovering':
    case 'steer.queued':
    case 'steer.delivered':
    case 'steer.undelivered':
    case 'steer.refused':
    case 'steer.late':
      return steerLine(record);
    case 'ask.asked':
    case 'ask.answered':
    case 'ask.declined':
    case 'ask.expired':
    case 'ask.run-ended':
      return `${record.step}: ask ${oneLine(record.id)} ${askWords(record)}`;
    case 'nested.started':
      return `${record.step}#${record.attempt}: has started run ${oneLine(record.run)}`;
    case 'nested.ended':
      return `run ${oneLine(record.run)} below ${record.step}#${record.attempt} ${record.state}`;
    case 'notice':
      return `look here: message ${oneLine(record.id)} is ${record.state} (${record.reason})`;
    case 'cause.late':
      return `${record.step ?? 'run'}: ${why(record.cause)}, but what decided was: ${why(record.won)}`;
    case 'attempt.launching':
    case 'attempt.started':
    case 'attempt.exited':
    case 'attempt.closed':
      return attemptLine(record);
  }
}

function attemptLine(record: Extract<JournalRecord, { type: `attempt.${string}` }>): string {
  const name = `${record.step}#${record.attempt}`;
  switch (record.type) {
    case 'attempt.launching':
      return `${name}: launching ${oneLine(record.agent)}`;
    case 'attempt.started':
      return `${name}: running as process ${record.pid}`;
    case 'attempt.exited':
      return `${name}: exited, ${record.signal === null ? `code ${record.code ?? 'unknown'}` : `signal ${record.signal}`}`;
    case 'attempt.closed':
      return `${name}: ${record.outcome}, processes ${describeProof(record.proof)}`;
  }
}

function steerLine(record: Extract<JournalRecord, { type: `steer.${string}` }>): string {
  const name = `message ${oneLine(record.id)}`;
  switch (record.type) {
    case 'steer.scheduled':
      return `${name} from ${oneLine(record.source)} for ${cut(record.targets.join(', '), MESSAGE_CHARS)}`;
    case 'steer.routed':
      return `${name}: handed to ${record.step}#${record.attempt}`;
    case 'steer.recovering':
      return `${name}: nothing was heard of it, ${record.step}#${record.attempt} is interrupted and resumed for it`;
    case 'steer.queued':
      return `${name}: ${record.step} has queued it`;
    case 'steer.delivered':
      return `${name}: ${record.step} took it and went on`;
    case 'steer.undelivered':
      return `${name}: not delivered to ${record.step} (${record.reason})`;
    case 'steer.refused':
      return `${name} from ${oneLine(record.source)} not taken on (${record.reason})`;
    case 'steer.late':
      return `${name}: ${record.step} took it after all, too late`;
  }
}

function askWords(record: Extract<JournalRecord, { type: `ask.${string}` }>): string {
  switch (record.type) {
    case 'ask.asked':
      return 'waits for an answer';
    case 'ask.answered':
      return 'answered';
    case 'ask.declined':
      return 'declined';
    case 'ask.expired':
      return record.reason === 'time' ? 'expired' : 'taken back';
    case 'ask.run-ended':
      return 'unanswered, the run is ending';
  }
}

function settledWhy({ state, error, cause }: Extract<JournalRecord, { type: 'step.settled' }>): string {
  if (state === 'completed') return '';
  return error === undefined ? `: ${why(cause)}` : `: ${error.code}: ${cut(oneLine(error.message), MESSAGE_CHARS)}`;
}

function takenFrom(from: (JournalRecord & { type: 'session.leased' })['from']): string {
  return from === null ? '' : `, left by ${from.step}#${from.attempt} of run ${from.run}`;
}
