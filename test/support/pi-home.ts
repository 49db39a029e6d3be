import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The pi that `test/real` installs: executable and leading arguments. */
export const PI_CLI = fileURLToPath(
  new URL('../real/node_modules/@mariozechner/pi-coding-agent/dist/cli.js', import.meta.url),
);

/** A home for pi that knows one provider, `fake`, at the scripted model server. */
export interface PiHome {
  /** The root; `work` is an empty working directory inside. */
  dir: string;
  work: string;
  /** What pi needs in its environment, PATH of this process included; nothing else of it. */
  env: Record<string, string>;
  remove(): Promise<void>;
}

export interface PiHomeOptions {
  /** The scripted server's `url`. */
  url: string;
  /** Ids of models, used as `fake/<id>`. The first is pi's default. */
  models: string[];
  /** How often pi itself tries again. Default 0. */
  retries?: number;
}

export async function makePiHome({ url, models, retries = 0 }: PiHomeOptions): Promise<PiHome> {
  const dir = await mkdtemp(join(tmpdir(), 'coxswain-pi-'));
  const agent = join(dir, 'agent');
  const work = join(dir, 'work');
  await mkdir(agent);
  await mkdir(work);
  await writeFile(join(agent, 'models.json'), JSON.stringify({ providers: { fake: provider(url, models) } }));
  await writeFile(join(agent, 'settings.json'), JSON.stringify(settings(models, retries)));
  return {
    dir,
    work,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: dir,
      PI_CODING_AGENT_DIR: agent,
      PI_OFFLINE: '1',
      PI_TELEMETRY: '0',
    },
    remove: () => rm(dir, { recursive: true, force: true, maxRetries: 5 }),
  };
}

function provider(baseUrl: string, models: string[]): unknown {
  return {
    baseUrl,
    api: 'openai-completions',
    apiKey: 'test',
    models: models.map((id) => ({
      id,
      contextWindow: 128_000,
      maxTokens: 16_000,
      cost: { input: 1, output: 2, cacheRead: 0.1, cacheWrite: 1.25 },
    })),
  };
}

function settings(models: string[], retries: number): unknown {
  return {
    defaultProvider: 'fake',
    ...(models[0] === undefined ? {} : { defaultModel: models[0] }),
    // The client library inside pi retries by itself as well, silently, and sleeps as long as a server says.
    retry: {
      enabled: retries > 0,
      maxRetries: retries,
      baseDelayMs: 50,
      provider: { maxRetries: 0, timeoutMs: 30_000 },
    },
  };
}
