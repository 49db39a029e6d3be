import { expect, test } from 'vitest';
import type {
  CauseType,
  FailureCode,
  JournalType,
  RejectReason,
  StepState,
  RunState,
} from '../../machines/protocol.ts';
import { createRegistry } from '../../src/agents/index.ts';
import { EXIT } from '../../src/cli/codes.ts';
import type { ErrorCode } from '../../src/errors.ts';
import { hostJsonSchemas } from '../../src/host/index.ts';
import { compileTemplate, type PlanErrorCode } from '../../src/plan/index.ts';
import { knownFields } from '../../src/plan/schema.ts';
import { jsonSchemas } from '../../src/record/index.ts';
import { namesIn, page, rowsIn, section, spansIn } from './markdown.ts';

/** Lists of words that are types in the sources: the compiler keeps these complete. */
const words = <T extends string>(record: Record<T, true>): string[] => Object.keys(record).toSorted();

test('agents: the capabilities are those of the adapters', async () => {
  const rows = rowsIn(section(page('docs/agents.md'), 'What they can do'), 'capability');
  const reports = await createRegistry({}, { env: {} }).list();
  expect(reports.map(({ name }) => name)).toEqual('acp claude codex command gemini opencode pi'.split(' '));
  for (const [index, { name, capabilities }] of reports.entries()) {
    const shown = rows.map((cells) => [spansIn(cells[0] ?? '')[0], spansIn(cells[index + 1] ?? '')[0]]);
    const real = Object.entries(capabilities ?? {}).map(([key, value]) => [key, String(value)]);
    expect(shown, name).toEqual(real);
  }
});

test('ended means gone: the ladders are those of the adapters', () => {
  const rows = rowsIn(section(page('docs/ended-means-gone.md'), 'How it is ended'), 'agent');
  const registry = createRegistry({ acp: { name: 'acp', adapter: 'acp', command: ['agent'] } }, { env: {} });
  for (const [index, name] of ['command', 'pi', null, 'claude', 'codex', null, 'opencode', 'gemini', 'acp'].entries()) {
    if (name === null) continue;
    const found = registry.get(name, name === 'command' ? 'run' : 'task');
    if (found.type !== 'agent') throw new Error(found.message);
    const shown = [...(rows[index]?.[1] ?? '').matchAll(/`(\S+)`[^,]*(?:, (\d+) s)?/g)];
    const real = found.agent.adapter.stopLadder;
    expect(
      shown.map(([, what]) => what),
      name,
    ).toEqual(real.map((rung) => rung.do));
    // After the last there is nothing to wait for but its end.
    expect(shown.slice(0, -1).map(([, , seconds]) => Number(seconds) * 1000)).toEqual(
      real.slice(0, -1).map(({ graceMs }) => graceMs),
    );
  }
});

test('agents: every failure code', () => {
  const codes = words<FailureCode>({
    'command-missing': true,
    'command-not-executable': true,
    'cwd-missing': true,
    'argument-list-too-long': true,
    'argument-invalid': true,
    'resources-exhausted': true,
    'spawn-failed': true,
    'not-contained': true,
    'session-busy': true,
    'launch-changed': true,
    'exit-code': true,
    signal: true,
    'exited-mid-tool': true,
    'no-end-record': true,
    'empty-output': true,
    'schema-missing': true,
    'schema-invalid': true,
    'schema-ambiguous': true,
    'hidden-error': true,
    'missing-output': true,
    'no-changes': true,
    'model-error': true,
    'rate-limited': true,
    'model-unavailable': true,
    'tool-unavailable': true,
    auth: true,
    'context-overflow': true,
    'model-timeout': true,
    aborted: true,
    length: true,
    protocol: true,
    template: true,
    leftovers: true,
    unproven: true,
    'runner-start': true,
  });
  expect(namesIn(section(page('docs/agents.md'), 'Why it failed'))).toEqual(codes);
});

test('record: every journal type, state, cause and reason', () => {
  const record = page('docs/record.md');
  const types = words<JournalType>({
    'run.started': true,
    'run.stopping': true,
    'run.finalizing': true,
    'run.settled': true,
    'run.completed': true,
    'run.deadline-moved': true,
    'clock.jumped': true,
    'step.started': true,
    'step.extended': true,
    'step.backing-off': true,
    'step.recovering': true,
    'activity.changed': true,
    'review.overdue': true,
    'step.settled': true,
    'session.leased': true,
    'session.released': true,
    'attempt.launching': true,
    'attempt.started': true,
    'attempt.exited': true,
    'attempt.closed': true,
    'run.appended': true,
    'step.resumed': true,
    'steer.scheduled': true,
    'steer.routed': true,
    'steer.recovering': true,
    'steer.queued': true,
    'steer.delivered': true,
    'steer.undelivered': true,
    'steer.refused': true,
    'steer.late': true,
    'ask.asked': true,
    'ask.answered': true,
    'ask.declined': true,
    'ask.expired': true,
    'ask.run-ended': true,
    'nested.started': true,
    'nested.ended': true,
    notice: true,
    'cause.late': true,
    'command.accepted': true,
    'command.answered': true,
    'persistence.degraded': true,
    'persistence.restored': true,
  });
  expect(namesIn(section(record, 'The journal'))).toEqual(types);
  const states = words<RunState | StepState>({
    queued: true,
    running: true,
    stopping: true,
    finalizing: true,
    completed: true,
    failed: true,
    stopped: true,
    paused: true,
    pending: true,
    preparing: true,
    'backing-off': true,
    skipped: true,
  });
  const causes = words<CauseType>({
    stop: true,
    'runner-signal': true,
    'runner-crashed': true,
    'run-deadline': true,
    'step-limit': true,
    'attempt-limit': true,
    'first-output-limit': true,
    'stall-limit': true,
    'tool-limit': true,
    budget: true,
    'protocol-error': true,
    interrupt: true,
    recovery: true,
    superseded: true,
    dependency: true,
    failure: true,
    completed: true,
  });
  expect(spansIn(section(record, 'The status'))).toEqual(expect.arrayContaining([...states, ...causes]));
  const reasons = words<RejectReason>({
    'already-ended': true,
    'run-ended': true,
    invalid: true,
    'unknown-type': true,
    'newer-version': true,
    'too-large': true,
    'not-a-file': true,
    unsupported: true,
    'id-reused': true,
    'too-many': true,
    'not-begun': true,
    stopping: true,
    'unknown-step': true,
    'not-running': true,
    'not-paused': true,
    'step-exists': true,
    'unknown-ask': true,
    'not-waiting': true,
  });
  expect(spansIn(section(record, 'Commands and receipts'))).toEqual(expect.arrayContaining(reasons));
});

test('record: every schema', () => {
  const files = ['plan', ...Object.keys({ ...jsonSchemas(), ...hostJsonSchemas() })]
    .map((name) => `${name}.json`)
    .toSorted();
  expect(namesIn(section(page('docs/record.md'), 'Versions and schemas'), 'schema')).toEqual(files);
});

test('plan: every field, and no other', () => {
  const plan = page('docs/plan.md');
  const shown = {
    plan: namesIn(section(plan, 'The plan'), 'field'),
    limits: namesIn(section(plan, 'The plan'), 'field of `limits`'),
    nested: namesIn(section(plan, 'The plan'), 'field of `nested`'),
    defaults: namesIn(section(plan, 'The plan'), 'field of `defaults`'),
    step: namesIn(section(plan, 'Steps'), 'field'),
    agent: namesIn(section(plan, 'Agents of your own'), 'field'),
    attemptLimits: namesIn(section(plan, 'Attempts'), "field of a step's `limits`"),
    retry: namesIn(section(plan, 'Attempts'), 'field of `retry`'),
  };
  for (const [place, names] of Object.entries(shown)) {
    expect(names, place).toEqual(knownFields[place as keyof typeof shown].toSorted());
  }
  const inner = spansIn(section(plan, 'Agents of your own') + section(plan, 'Steps') + section(plan, 'Attempts'));
  const { stop, output, stall, backoff, rule } = knownFields;
  expect(inner).toEqual(expect.arrayContaining([...stop, ...output, ...stall, ...backoff, ...rule]));
});

test('plan: the filters that are named are there', () => {
  const text = section(page('docs/plan.md'), 'Templates');
  const named = spansIn(text.slice(text.indexOf('The filters are'))).filter((name) => /^[a-z_0-9]+$/.test(name));
  expect(named.length).toBeGreaterThan(50);
  const quoted = new Set(['where', 'reject', 'find', 'find_index', 'has', 'group_by']);
  const missing = named.filter((name) => {
    const argument = quoted.has(name) ? ': "a"' : '';
    return compileTemplate(`{{ steps.a.output | ${name}${argument} }}`).type !== 'ok';
  });
  expect(missing).toEqual([]);
  expect(compileTemplate('{{ steps.a.output | date }}').type).toBe('invalid');
});

test('plan: every code of a mistake', () => {
  const codes = words<PlanErrorCode>({
    'file-missing': true,
    'file-unreadable': true,
    'file-too-large': true,
    'not-utf8': true,
    syntax: true,
    'duplicate-key': true,
    'empty-plan': true,
    'too-many-steps': true,
    'missing-field': true,
    'wrong-type': true,
    'bad-value': true,
    'unknown-field': true,
    'unsupported-field': true,
    'bad-id': true,
    'duplicate-id': true,
    'unknown-agent': true,
    'unknown-adapter': true,
    'broken-agent': true,
    'not-honoured': true,
    'unknown-step': true,
    'self-need': true,
    cycle: true,
    'not-an-ancestor': true,
    'bad-template': true,
    'bad-schema': true,
    'shell-template': true,
    'task-and-run': true,
    'no-task': true,
    'cwd-missing': true,
    'cwd-not-a-directory': true,
  });
  expect(spansIn(section(page('docs/plan.md'), 'Mistakes'))).toEqual(expect.arrayContaining(codes));
});

test('library: every error code', () => {
  const codes = words<ErrorCode>({
    'plan-invalid': true,
    'config-invalid': true,
    'root-refused': true,
    'run-exists': true,
    'bad-id': true,
    'nest-refused': true,
    'record-failed': true,
    'runner-start': true,
    'run-missing': true,
    'run-ambiguous': true,
  });
  expect(namesIn(section(page('docs/library.md'), 'Errors'))).toEqual(codes);
});

test('command line: every exit code', () => {
  const rows = rowsIn(section(page('docs/command-line.md'), 'Exit codes'), 'code').map(([code]) => code);
  const single = [...new Set([...Object.values(EXIT), 3, 4])].filter((code) => code < 128).toSorted((a, b) => a - b);
  expect(rows).toEqual([...single.map(String), '128 + n']);
});
