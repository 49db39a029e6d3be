import type { Profiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';

export type Part = 'spawn' | 'files' | 'sweep' | 'journal' | 'status' | 'actors' | 'gc' | 'idle' | 'rest' | 'watching';
export type Parts = Record<Part, number>;

const NOTHING: Parts = {
  spawn: 0,
  files: 0,
  sweep: 0,
  journal: 0,
  status: 0,
  actors: 0,
  gc: 0,
  idle: 0,
  rest: 0,
  watching: 0,
};

/** Where a function lives tells whose time it is. The first that matches counts. */
const OWNERS: readonly (readonly [Part, RegExp])[] = [
  [
    'spawn',
    /^spawn node:(internal\/)?child_process|\/execa\/|\/src\/process\/((launch|launcher|spawn|spawned|failure|drain)\.js$|nursery\/)/,
  ],
  ['sweep', /\/src\/process\//],
  ['journal', /\/src\/record\/(journal|line-queue)\.js$/],
  [
    'status',
    /\/src\/record\/(status-\w+|atomic)\.js$|\/src\/runtime\/projector\.js$|\/machines\/projection\.js$|\/write-file-atomic\//,
  ],
  ['files', /\/src\/record\/|\/src\/runtime\/(keep|launching)\.js$/],
  ['actors', /\/xstate\/|\/machines\//],
  ['rest', /\/src\/|\/bench\//],
  // The profiler itself.
  ['watching', / node:inspector/],
];

/** Runs `work` under the sampling profiler: the milliseconds of this thread, by part. The parts are all there is. */
export async function partsOf(work: () => Promise<unknown>): Promise<Parts> {
  const session = new Session();
  session.connect();
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.setSamplingInterval', { interval: 200 });
    await session.post('Profiler.start');
    await work();
    return sorted((await session.post('Profiler.stop')).profile);
  } finally {
    session.disconnect();
  }
}

function sorted({ nodes, samples = [], timeDeltas = [] }: Profiler.Profile): Parts {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node.id] as const)));
  const parts: Parts = { ...NOTHING };
  for (const [index, sample] of samples.entries()) {
    let part: Part | null = null;
    for (let id: number | undefined = sample; id !== undefined && part === null; id = parents.get(id)) {
      const node = byId.get(id);
      part = node === undefined ? null : ownerOf(node.callFrame);
    }
    parts[part ?? 'rest'] += (timeDeltas[index] ?? 0) / 1_000;
  }
  return parts;
}

function ownerOf({ functionName, url }: Profiler.ProfileNode['callFrame']): Part | null {
  if (functionName === '(garbage collector)') return 'gc';
  if (functionName === '(idle)') return 'idle';
  const name = `${functionName} ${url}`;
  return OWNERS.find(([, pattern]) => pattern.test(name))?.[0] ?? null;
}
