import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

type Kind = 'delta' | 'message' | 'state';

/** Captured from real runs, with tools and without. */
const RUNS = ['tool-then-reply', 'multi-turn', 'simple-reply', 'thinking'];
const VERSIONS = ['pi-0.73.1', 'pi-1.6.0'];

const KINDS: Readonly<Record<string, Kind>> = {
  message_update: 'delta',
  message_end: 'message',
  tool_execution_start: 'message',
  tool_execution_end: 'message',
  agent_start: 'state',
  turn_start: 'state',
  turn_end: 'state',
  agent_end: 'state',
  agent_settled: 'state',
};

/** Of a hundred records: 90 deltas, 9 messages and tools, 1 change of state. */
const MIX: readonly Kind[] = Array.from({ length: 100 }, (_, at) =>
  at === 99 ? 'state' : at % 11 === 10 ? 'message' : 'delta',
);

/** So many records of pi in the given mix, half of each version in turn, in the shapes and sizes that pi gave them. */
export function piLines(count: number): string[] {
  const byVersion = VERSIONS.map(recordsOf);
  return Array.from({ length: count }, (_, at) => {
    const pools = byVersion[Math.floor(at / 100) % byVersion.length];
    const pool = pools?.[MIX[at % 100] ?? 'delta'] ?? [];
    return pool[Math.floor(at / 200) % pool.length] ?? '';
  });
}

function recordsOf(version: string): Record<Kind, string[]> {
  const pools: Record<Kind, string[]> = { delta: [], message: [], state: [] };
  for (const run of RUNS) {
    const path = fileURLToPath(new URL(`../../../test/fixtures/${version}/${run}.jsonl`, import.meta.url));
    for (const line of readFileSync(path, 'utf8').split('\n')) {
      const kind = line === '' ? undefined : KINDS[(JSON.parse(line) as { type: string }).type];
      if (kind !== undefined) pools[kind].push(line);
    }
  }
  return pools;
}

/** A record with a text of so many characters: an answer, the output of a tool, or a delta in turn. */
export function longLine(chars: number, at: number): string {
  const text = 'All work and no play. '.repeat(Math.ceil(chars / 22)).slice(0, chars);
  const content = [{ type: 'text', text }];
  switch (at % 3) {
    case 0:
      return JSON.stringify({ type: 'message_end', message: { role: 'assistant', content, stopReason: 'toolUse' } });
    case 1:
      return JSON.stringify({ type: 'tool_execution_end', toolCallId: 'c1', toolName: 'bash', result: { content } });
    default:
      return JSON.stringify({ type: 'message_update', message: { role: 'assistant', content } });
  }
}
