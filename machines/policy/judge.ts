import type { AgentEnd, Expected, Failure, Findings, Instant, Problem } from '../protocol.ts';

/**
 * What is held against an attempt that has ended well by its own account, in this order: tools it was to have,
 * the value it was to hand in, a tool that failed at its very end, an answer that is empty, the files it was to write, the
 * changes it was to make. Null: nothing; it has done what it was asked for. `findings` is null where nothing was looked for.
 */
export function judge(end: AgentEnd, findings: Findings | null): Failure | null {
  return (
    lacking(end.lacks ?? []) ??
    ofValue(findings) ??
    hidden(end.failedTool) ??
    empty(end, findings) ??
    ofFiles(findings) ??
    ofChanges(findings)
  );
}

/** It says that it did its work; an agent that says nothing does so, too. */
export const isNatural = (end: AgentEnd): boolean => end.type === 'success' || end.failure.code === 'empty-output';

/** Of the tools that are required those that an agent does not report. An agent that reports none says nothing about them. */
export function toolsLacking(required: readonly string[], reported: readonly string[] | null): string[] {
  return reported === null ? [] : required.filter((tool) => !reported.includes(tool));
}

/** Of an attempt whose end was never seen in full: nobody can tell, and nothing counts. */
export function nothingSeen({ value, files, changes }: Expected, at: Instant): Findings {
  const reason = 'its end was not seen';
  return {
    at,
    value: value ? { type: 'missing' } : null,
    files: 0,
    missing: files.map((file) => ({ file, why: 'was not looked for' })),
    changes: changes ? { type: 'unknown', reason } : null,
  };
}

function lacking(tools: readonly string[]): Failure | null {
  if (tools.length === 0) return null;
  const names = tools.join(', ');
  return { code: 'tool-unavailable', message: `the agent does not have what it was to work with: ${names}` };
}

function ofValue(findings: Findings | null): Failure | null {
  const value = findings?.value ?? null;
  if (value === null) return null;
  switch (value.type) {
    case 'valid':
      return null;
    case 'missing':
      return { code: 'schema-missing', message: 'it ended without handing in the value that its schema describes' };
    case 'ambiguous': {
      const { candidates } = value;
      const message = `its answer holds ${candidates} JSON objects, and it is not said which of them is the value`;
      return { code: 'schema-ambiguous', message, detail: { candidates } };
    }
    case 'invalid': {
      const message = `the value does not fit its schema: ${value.problems.map(worded).join('; ')}`;
      return { code: 'schema-invalid', message, detail: { paths: value.problems.map(({ path }) => path).join(' ') } };
    }
  }
}

const worded = ({ path, message }: Problem): string => `${path === '' ? 'the whole' : path} ${message}`;

function hidden(tool: string | undefined): Failure | null {
  if (tool === undefined) return null;
  const message = `it ended well right after its tool ${tool} had failed, without a word about it`;
  return { code: 'hidden-error', message, detail: { tool } };
}

/** A value, or all the files it was to write, is an answer. */
function empty(end: AgentEnd, findings: Findings | null): Failure | null {
  if (end.type === 'success' || findings?.value?.type === 'valid') return null;
  return findings !== null && findings.missing.length === 0 && findings.files > 0 ? null : end.failure;
}

function ofFiles(findings: Findings | null): Failure | null {
  const missing = findings?.missing ?? [];
  if (missing.length === 0) return null;
  const message = missing.map(({ file, why }) => `${file} ${why}`).join('; ');
  return { code: 'missing-output', message, detail: { files: missing.map(({ file }) => file).join(', ') } };
}

function ofChanges(findings: Findings | null): Failure | null {
  const changes = findings?.changes ?? null;
  if (changes === null || changes.type === 'some') return null;
  const message =
    changes.type === 'none'
      ? 'it was to change something in the work tree, and everything there is as it was'
      : `whether it changed anything could not be seen: ${changes.reason}`;
  return { code: 'no-changes', message, detail: { seen: changes.type === 'none' } };
}
