import { relative } from 'node:path';
import type { Reporter, TestModule } from 'vitest/node';

/** Says at the end what each folder of `test/` has cost: seconds of its tests, and of loading its files. */
export default class Seconds implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const tests = new Map<string, number>();
    let loading = 0;
    for (const module of modules) {
      const [folder = ''] = relative('test', module.moduleId).split(/[\\/]/);
      const { duration, collectDuration, prepareDuration, environmentSetupDuration } = module.diagnostic();
      tests.set(folder, (tests.get(folder) ?? 0) + duration);
      loading += collectDuration + prepareDuration + environmentSetupDuration;
    }
    const folders = [...tests].toSorted(([, a], [, b]) => b - a).map(([folder, ms]) => `${folder} ${seconds(ms)}`);
    console.info(`     Seconds  ${folders.join(', ')}; loading ${seconds(loading)}`);
  }
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
