/**
 * coxswain as a library: start a plan in this process, listen, and read what came of it.
 * `node examples/library.ts` on Node 22.18 or newer; compile it for older ones.
 */
import { start } from 'coxswain';

// `await using` stops the run and waits until everything is gone, whatever happens in this block.
await using run = await start({
  plan: {
    version: 1,
    name: 'greeting',
    steps: [
      { id: 'name', run: ['echo', 'world'] },
      { id: 'greet', run: ['echo', 'hello {{ steps.name.output }}'] },
    ],
  },
});

for await (const event of run.events()) {
  if (event.type === 'step.settled') console.log(`${event.step}: ${event.state}`);
}
const { state, steps } = await run.result();
console.log(state, steps.at(-1)?.output);
