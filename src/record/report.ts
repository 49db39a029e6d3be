import type { Cause, ProofSummary, Usage } from '../../machines/protocol.ts';
import type { RunResult, StepResult } from './result.ts';

/** Characters of an output shown in a report; the whole is in `result.json` or the file named. */
const excerptChars = 2000;
const mostRows = 500;
const mostOutputs = 50;

/** `report.md`: a run's result for people. Pure, and of bounded size: long outputs and long lists are cut and say so. */
export function renderReport(result: RunResult): string {
  const parts = [
    heading(result),
    stepTable(result.steps),
    ...result.steps.filter(needsExplaining).slice(0, mostOutputs).map(explanation),
    ...outputs(result.steps),
    files(),
  ];
  return `${parts.filter((part) => part !== '').join('\n\n')}\n`;
}

function heading(result: RunResult): string {
  const partial = result.partial === true ? ', partly: something completed' : '';
  return [
    `# ${inline(result.name)}: ${result.state}`,
    '',
    `- Run: \`${result.id}\`${result.epoch > 1 ? `, epoch ${result.epoch}` : ''}`,
    `- Why it ended: ${describeCause(result.cause)}${partial}`,
    `- When: ${result.startedAt} to ${result.endedAt} (${duration(result.startedAt, result.endedAt)})`,
    `- Usage: ${describeUsage(result.usage)}`,
  ].join('\n');
}

function stepTable(steps: readonly StepResult[]): string {
  const rows = steps.slice(0, mostRows).map((step) => {
    const proof = step.attempts.at(-1)?.proof ?? null;
    return `| ${cell(step.id)} | ${cell(step.agent)} | ${step.state} | ${step.attempts.length} | ${cell(describeProof(proof))} |`;
  });
  const rest = steps.length - rows.length;
  const head = ['## Steps', '', '| step | agent | state | attempts | processes |', '|---|---|---|---|---|', ...rows];
  return [...head, ...(rest > 0 ? ['', `${rest} more steps are in \`result.json\`.`] : [])].join('\n');
}

/** As people read a proof: the verdict, and how well it could be seen. */
export function describeProof(proof: ProofSummary | null): string {
  if (proof === null) return 'not started';
  const leftovers = proof.leftovers > 0 ? `, ${count(proof.leftovers, 'leftover')} ended` : '';
  switch (proof.verdict) {
    case 'gone':
      return `gone (${proof.level})${leftovers}`;
    case 'survived':
      return `${count(proof.survivors, 'process', 'processes')} survived (${proof.level})`;
    case 'unknown':
      return `unknown (${proof.reason ?? proof.level})`;
  }
}

function needsExplaining(step: StepResult): boolean {
  return step.state !== 'completed';
}

function explanation(step: StepResult): string {
  const lines = [`### ${inline(step.id)}: ${step.state}`, '', describeCause(step.cause)];
  if (step.error) lines.push('', `\`${step.error.code}\`: ${inline(step.error.message)}`);
  for (const { n, outcome, exit, signal, forcedExit } of step.attempts) {
    const how = signal === null ? (exit === null ? 'no exit seen' : `exit code ${exit}`) : `signal ${signal}`;
    lines.push('', `Attempt ${n}: ${outcome}, ${how}${forcedExit ? ', ended by us' : ''}`);
  }
  return lines.join('\n');
}

function outputs(steps: readonly StepResult[]): string[] {
  const shown = steps.filter((step) => step.output !== null);
  if (shown.length === 0) return [];
  const rest = shown.length - mostOutputs;
  return [
    '## Outputs',
    ...shown.slice(0, mostOutputs).map(output),
    ...(rest > 0 ? [`${rest} more outputs are in \`result.json\`.`] : []),
  ];
}

function output(step: StepResult): string {
  const title = `### ${inline(step.id)}${step.truncated ? ' (not all of it)' : ''}`;
  if (step.output === null) return title;
  if ('path' in step.output) {
    const { path, bytes, lines } = step.output;
    return `${title}\n\n${bytes} bytes, ${count(lines, 'line')}, in \`${path}\`.`;
  }
  const text = 'value' in step.output ? JSON.stringify(step.output.value, null, 2) : step.output.text;
  const fence = '`'.repeat(Math.max(3, longestRun(text) + 1));
  const rest = text.length - excerptChars;
  const more = rest > 0 ? `\n\n${rest} more characters are in \`result.json\`.` : '';
  return `${title}\n\n${fence}text\n${text.slice(0, excerptChars)}\n${fence}${more}`;
}

function files(): string {
  return [
    '## Files',
    '',
    'Beside this report:',
    '',
    '- `result.json`: this result for programs',
    '- `events.jsonl`: what happened, in order',
    '- `status.json`: the last state',
    '- `proof.json`: whether everything that was started has ended',
    '- `attempts/<step>/<n>/`: what each attempt said, `stdout.jsonl`, `stderr.log` and `transcript.jsonl`',
  ].join('\n');
}

/** A cause in words. */
export function describeCause(cause: Cause): string {
  switch (cause.type) {
    case 'stop':
      return `stopped by ${inline(cause.source)}${cause.reason === undefined ? '' : `: ${inline(cause.reason)}`}`;
    case 'runner-signal':
      return `the runner got ${cause.signal}`;
    case 'runner-crashed':
      return `the runner failed: ${inline(cause.message)}`;
    case 'run-deadline':
      if (cause.deadlineAt !== undefined)
        return `the run's deadline was moved to ${cause.deadlineAt}, which was over already`;
      return `the run's time limit of ${seconds(cause.limitMs)} was reached`;
    case 'step-limit':
      if (cause.deadlineAt !== undefined)
        return `the step's deadline was moved to ${cause.deadlineAt}, which was over already`;
      return `the step's time limit of ${seconds(cause.limitMs)} was reached`;
    case 'attempt-limit':
      return `the attempt's time limit of ${seconds(cause.limitMs)} was reached`;
    case 'first-output-limit':
      return `it gave no output within ${seconds(cause.limitMs)}`;
    case 'stall-limit':
      return `it made no progress for ${seconds(cause.limitMs)}`;
    case 'tool-limit':
      return `the tool ${inline(cause.tool)} reached its time limit of ${seconds(cause.limitMs)}`;
    case 'budget':
      return `its budget of ${cause.budget} was used up`;
    case 'protocol-error':
      return `the agent broke its protocol: ${inline(cause.reason)}`;
    case 'interrupt':
      return `interrupted by ${inline(cause.source)}`;
    case 'recovery':
      return `interrupted, to be resumed, because nothing was heard of the message ${inline(cause.request)}`;
    case 'superseded':
      return `${inline(cause.by)} took its place`;
    case 'dependency':
      return `${inline(cause.step)}, which it needs, did not complete`;
    case 'failure':
      return `failed: ${cause.reason}`;
    case 'completed':
      return 'the work was done';
  }
}

function describeUsage(usage: Usage): string {
  const cost = usage.costUsd === undefined ? 'cost unknown' : `${usage.costUsd.toFixed(4)} US dollars`;
  const cached = usage.cacheRead + usage.cacheWrite;
  const tokens = `${usage.input} tokens in, ${usage.output} out, ${cached} cached`;
  return `${tokens}, ${count(usage.turns, 'turn')}, ${count(usage.tools, 'tool call')}, ${cost}`;
}

function duration(from: string, to: string): string {
  return seconds(Math.max(0, Date.parse(to) - Date.parse(from)));
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

function count(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}

function longestRun(text: string): number {
  let longest = 0;
  for (const run of text.match(/`+/g) ?? []) longest = Math.max(longest, run.length);
  return longest;
}

/** Text of others on one line, without markup of ours. */
function inline(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  const short = line.length > 300 ? `${line.slice(0, 300)} ...` : line;
  return short.replaceAll(/[\\`*_[\]<>#]/g, String.raw`\$&`);
}

function cell(text: string): string {
  return inline(text).replaceAll('|', String.raw`\|`);
}
