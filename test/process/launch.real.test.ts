import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createLineSplitter, identify, TOKEN_ENV } from '../../src/process/index.ts';
import { endLater, firstLine, folder, record, script, until } from './support.ts';

const node = process.execPath;

describe('a child that ends by itself', () => {
  it('reports start, output, exit and drain in this order, never before launch has returned', async () => {
    const run = record(['/bin/sh', '-c', 'echo out; echo err >&2; exit 7']);
    expect(run.log).toEqual([]);
    const { pid, startTime } = await run.started;
    expect(pid).toBe(run.child.pid);
    expect(startTime).toEqual(expect.any(Number));
    expect(await run.exited).toMatchObject({ code: 7, signal: null });
    expect(await run.drained).toMatchObject({ how: 'closed' });
    expect(run.log[0]).toBe('started');
    expect(run.log.at(-1)).toBe('drained');
    expect(run.log.filter((name) => name !== 'stdout' && name !== 'stderr')).toEqual(['started', 'exited', 'drained']);
    expect(run.stdout().toString()).toBe('out\n');
    expect(run.stderr().toString()).toBe('err\n');
  });

  it('S015: names the signal that ended it', async () => {
    const run = record(['/bin/sh', '-c', 'kill -KILL $$']);
    expect(await run.exited).toMatchObject({ code: null, signal: 'SIGKILL' });
    expect(await run.drained).toMatchObject({ how: 'closed' });
  });

  it('S017: gives the error output and the code of a command that fails at once', async () => {
    const run = record(['/bin/sh', '-c', 'echo "bad flag" >&2; exit 1']);
    expect(await run.exited).toMatchObject({ code: 1 });
    await run.drained;
    expect(run.stderr().toString()).toBe('bad flag\n');
    expect(run.stdout()).toHaveLength(0);
  });

  it('gets the given environment and nothing else, and the given folder', async () => {
    const cwd = folder();
    const run = record(['/usr/bin/env'], { cwd, env: { ONE: '1' } });
    await run.drained;
    const names = run
      .stdout()
      .toString()
      .trim()
      .split('\n')
      .map((line) => line.split('=')[0]);
    expect(new Set(names)).toEqual(new Set([TOKEN_ENV, 'ONE', 'PATH']));
  });

  it('runs a shell line by /bin/sh, and quoted arguments without any shell', async () => {
    const shell = record(['echo "a  b" | tr a-z A-Z'], { shell: true });
    await shell.drained;
    expect(shell.stdout().toString()).toBe('A  B\n');
    const odd = join(folder(), 'it\'s "odd" $HOME');
    writeFileSync(odd, '#!/bin/sh\nprintf "%s|" "$@"\n', { mode: 0o755 });
    const plain = record([odd, 'a b', '$HOME', "'q'", '*']);
    await plain.drained;
    expect(plain.stdout().toString()).toBe("a b|$HOME|'q'|*|");
  });
});

describe('process groups', () => {
  it('S005: a child that signals its own group hits nobody else', async () => {
    const run = record(['/bin/sh', '-c', 'kill -TERM 0; sleep 5']);
    expect(await run.exited).toMatchObject({ code: null, signal: 'SIGTERM' });
    // That this line runs is the point.
    expect(identify(process.pid)).not.toBeNull();
  });
});

describe('the drain', () => {
  it('S028: does not wait for a grandchild that holds the pipe, and keeps the output', async () => {
    const run = record(['/bin/sh', '-c', 'sleep 600 & echo done; exit 0']);
    const exited = await run.exited;
    const drained = await run.drained;
    expect(drained.how).toBe('quiet');
    expect(drained.at - exited.at).toBeGreaterThan(450);
    expect(drained.at - exited.at).toBeLessThan(1_500);
    expect(run.stdout().toString()).toBe('done\n');
  });

  it('goes on while a grandchild talks, and ends without more output when it falls silent', async () => {
    const run = record(['/bin/sh', '-c', '(for i in 1 2 3 4; do sleep 0.2; echo $i; done; exec sleep 600) & exit 0']);
    const exited = await run.exited;
    const drained = await run.drained;
    expect(run.stdout().toString()).toBe('1\n2\n3\n4\n');
    expect(drained.how).toBe('quiet');
    expect(drained.at - exited.at).toBeGreaterThan(1_200);
    expect(run.log.at(-1)).toBe('drained');
  });

  it('reads what waited in the pipe while the loop was blocked before calling it quiet', async () => {
    const run = record(['/bin/sh', '-c', '(sleep 0.3; echo late; exec sleep 600) & exit 0']);
    await run.exited;
    for (const end = performance.now() + 800; performance.now() < end;);
    await run.drained;
    expect(run.stdout().toString()).toBe('late\n');
  });
});

describe('stdin', () => {
  it('S105: swallows EPIPE when a child exits before it has read 8 MiB', async () => {
    const beside = record([node, '-e', 'process.stdin.pipe(process.stdout)'], {
      stdin: { type: 'text', text: 'fine' },
    });
    const run = record(['/bin/sh', '-c', 'exit 7'], { stdin: { type: 'text', text: 'x'.repeat(8 * 1024 * 1024) } });
    expect(await run.exited).toMatchObject({ code: 7 });
    await run.drained;
    expect(run.child.blocked).toBe(0);
    run.child.write('after the end');
    run.child.closeStdin();
    expect(await beside.exited).toMatchObject({ code: 0 });
    await beside.drained;
    expect(beside.stdout().toString()).toBe('fine');
  });

  it('stays open for a protocol until it is closed, and says how much is blocked', async () => {
    const echo = record(['/bin/cat'], { stdin: { type: 'protocol' } });
    echo.child.write('one\n');
    expect(await firstLine(echo)).toBe('one');
    echo.child.closeStdin();
    expect(await echo.exited).toMatchObject({ code: 0 });
    const deaf = record(['/bin/sh', '-c', 'exec sleep 600'], { stdin: { type: 'protocol' } });
    deaf.child.write('x'.repeat(1024 * 1024));
    await until('the pipe is full', () => deaf.child.blocked > 0 && deaf.child.blocked <= 1024 * 1024);
  });

  it('is empty where there is none', async () => {
    const run = record(['/bin/cat']);
    expect(await run.exited).toMatchObject({ code: 0 });
  });
});

const flood = (stream: string): string =>
  `const b = Buffer.alloc(1 << 20, 120); let n = 100;
   const more = () => { while (n-- > 0) if (!process.${stream}.write(b)) return process.${stream}.once('drain', more); };
   more();`;

describe('volume', () => {
  it('S057: 20 children at once, 5 MiB each in 1 KiB lines, byte for byte', async () => {
    const writer = script(
      'write.mjs',
      `const line = 'x'.repeat(1023) + '\\n'; let left = 5 * 1024;
       const more = () => { while (left-- > 0) if (!process.stdout.write(line)) return process.stdout.once('drain', more); };
       more();`,
    );
    const expected = createHash('sha256')
      .update(`${'x'.repeat(1023)}\n`.repeat(5 * 1024))
      .digest('hex');
    const runs = Array.from({ length: 20 }, () => record([node, writer]));
    for (const run of runs) {
      // oxlint-disable-next-line no-await-in-loop -- they run side by side all the same
      expect(await run.drained).toMatchObject({ how: 'closed' });
      expect(createHash('sha256').update(run.stdout()).digest('hex')).toBe(expected);
    }
  });

  it('S054: 100 MB without a newline and 100 MB of errors cost less than 64 MB', async () => {
    globalThis.gc?.();
    const before = process.memoryUsage.rss();
    const long: number[] = [];
    const splitter = createLineSplitter({ line: () => {}, tooLong: (bytes) => long.push(bytes) });
    let most = 0;
    let errors = 0;
    const watch = (): void => void (most = Math.max(most, process.memoryUsage.rss() - before));
    const a = record([node, '-e', flood('stdout')], {}, { stdout: (chunk) => (splitter.push(chunk), watch()) });
    const b = record([node, '-e', flood('stderr')], {}, { stderr: (chunk) => ((errors += chunk.length), watch()) });
    expect(await a.exited).toMatchObject({ code: 0 });
    expect(await b.exited).toMatchObject({ code: 0 });
    await Promise.all([a.drained, b.drained]);
    splitter.end();
    expect(long).toEqual([100 << 20]);
    expect(errors).toBe(100 << 20);
    expect(most / (1 << 20)).toBeLessThan(64);
  });
});

describe('descendants', () => {
  it('are not ended with the child: that is for others to do', async () => {
    const run = record(['/bin/sh', '-c', 'sleep 600 & echo $!']);
    const pid = Number(await firstLine(run));
    endLater(run.child.pid ?? 0);
    await run.exited;
    expect(identify(pid)).not.toBeNull();
  });
});
