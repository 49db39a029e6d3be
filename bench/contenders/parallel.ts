import { PARALLEL } from '../support/peers.ts';
import { run } from '../support/process.ts';
import { type Contender, PROGRAM } from './contender.ts';

/** GNU parallel, with no arguments taken from its input. */
export const parallel: Contender = async ({ steps, concurrency, folder }) => {
  const input = `${Array.from({ length: steps }, (_, at) => at).join('\n')}\n`;
  const args = ['--will-cite', `-j${concurrency}`, '-n0', PROGRAM];
  const { code, ms, stderr } = await run(PARALLEL, args, { cwd: folder, input });
  if (code !== 0) throw new Error(`parallel ended with ${code}: ${stderr}`);
  return ms;
};
