import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import { isCoxswainError, listAgents } from '../index.ts';
import { rootOf } from '../client.ts';
import { agentRow, warningsOf } from './agents.ts';
import { EXIT } from './codes.ts';
import { diagramFiles, diagramsFolder } from './diagrams.ts';
import type { PlaceOptions } from './finding.ts';
import { type Io, fail, printJson } from './io.ts';
import { packageVersion } from './version.ts';
import { count, table } from './words.ts';

export interface DoctorOptions extends PlaceOptions {
  /** Looks at this run instead. */
  run?: string;
  end?: boolean;
  json?: boolean;
}

/** One thing that was looked at. `note` works, but less well than it could. */
export interface Check {
  name: string;
  state: 'ok' | 'note' | 'wrong';
  found: string;
  /** What to do about it. */
  advice?: string;
}

export async function doctor(options: DoctorOptions, io: Io): Promise<number> {
  if (options.run !== undefined) return (await import('./look-again.ts')).lookAgain(options.run, options, io);
  if (options.end === true) return fail(io, EXIT.usage, '--end needs --run <run>: whose processes are to be ended?');
  const agents = await listAgents({ env: io.env, versions: true });
  const checks = [node(), processes(), stateRoot(options, io), diagrams()];
  const usable = agents.filter(({ problem, name }) => problem === null && name !== 'command');
  if (usable.length === 0) checks.push(noAgent());
  checks.push(...warningsOf(agents).map(unknownVersion));
  if (options.json === true) {
    const ok = checks.every(({ state }) => state !== 'wrong');
    await printJson(io, { v: 1, version: packageVersion(), ok, checks, agents });
    return EXIT.ok;
  }
  const rows = checks.map(({ name, state, found }) => [MARKS[state], name, found]);
  const advice = checks.flatMap((check) => (check.advice === undefined ? [] : [`- ${check.name}: ${check.advice}`]));
  const parts = [
    `coxswain ${packageVersion()}`,
    ...table(rows),
    '',
    ...table([['agent', 'adapter', 'program'], ...agents.map(agentRow)]),
    ...(advice.length === 0 ? ['', 'Everything is as it should be.'] : ['', 'What to do:', ...advice]),
  ];
  await io.out.write(`${parts.join('\n')}\n`);
  return EXIT.ok;
}

const MARKS: Record<Check['state'], string> = { ok: 'ok', note: 'note', wrong: 'WRONG' };

/** As in package.json. */
const OLDEST_NODE = [20, 19] as const;

function node(): Check {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  const fine = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  const found = `${process.version} on ${process.platform} ${process.arch}`;
  if (fine) return { name: 'node', state: 'ok', found };
  return { name: 'node', state: 'wrong', found, advice: `install Node ${OLDEST_NODE.join('.')} or newer` };
}

/** How well the end of a process tree can be seen here. */
function processes(): Check {
  const name = 'processes';
  if (process.platform === 'win32') {
    return {
      name,
      state: 'note',
      found: 'no process groups: ended by tree-kill, proof unknown',
      advice: 'nothing can be done on Windows',
    };
  }
  if (process.platform !== 'linux') {
    return {
      name,
      state: 'note',
      found: 'process groups; no /proc: proof by group only',
      advice: 'a child that leaves its group is not found on this system',
    };
  }
  try {
    readFileSync('/proc/self/environ');
    accessSync('/proc/self/stat', constants.R_OK);
    return { name, state: 'ok', found: 'process groups and /proc: proof by search' };
  } catch {
    return {
      name,
      state: 'wrong',
      found: '/proc cannot be read',
      advice: 'mount /proc, else only process groups are looked at',
    };
  }
}

function stateRoot({ root }: PlaceOptions, io: Io): Check {
  const name = 'state root';
  try {
    const path = rootOf({ root, env: io.env });
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return { name, state: 'ok', found: `${path} (made by the first run)` };
    return { name, state: 'ok', found: `${path} (mode ${(stat.mode & 0o777).toString(8).padStart(4, '0')})` };
  } catch (error) {
    if (!isCoxswainError(error)) throw error;
    return { name, state: 'wrong', found: 'refused', advice: error.message };
  }
}

function diagrams(): Check {
  const files = diagramFiles();
  const found = `${diagramsFolder()} (${count(files.length, 'file')})`;
  if (files.length > 0) return { name: 'diagrams', state: 'ok', found };
  return { name: 'diagrams', state: 'wrong', found, advice: 'the package is not complete: install it again' };
}

function noAgent(): Check {
  const advice = 'install one, or say where it is: COXSWAIN_AGENT_PI=/path/to/pi (commands work without)';
  return { name: 'agents', state: 'note', found: 'none can be used', advice };
}

function unknownVersion({ name, warning }: { name: string; warning: string }): Check {
  const advice = 'nothing, while it works; a version that is known is the safe one';
  return { name: `agent ${name}`, state: 'note', found: warning, advice };
}
