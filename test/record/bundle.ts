import { join } from 'node:path';
import { build } from 'vite';

/**
 * Makes one JavaScript file of a TypeScript one, for processes that a test starts: Node 20 runs no TypeScript, and
 * dist/ may be older than the sources under test.
 */
export async function bundle(entry: string, outDir: string): Promise<string> {
  await build({
    configFile: false,
    logLevel: 'silent',
    build: {
      ssr: entry,
      outDir,
      emptyOutDir: false,
      minify: false,
      rolldownOptions: { output: { entryFileNames: 'writer.mjs', format: 'es' } },
    },
    ssr: { noExternal: true },
    // CommonJS that asks for its own name (write-file-atomic).
    define: { __filename: '"writer"' },
  });
  return join(outDir, 'writer.mjs');
}
