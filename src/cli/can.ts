import { type Possible, can as readCan } from '../client.ts';
import { EXIT } from './codes.ts';
import { type PlaceOptions, failNotFound, failUnreadable } from './finding.ts';
import { type Io, fail, printJson } from './io.ts';

export interface CanOptions extends PlaceOptions {
  json?: boolean;
}

export async function can(run: string, options: CanOptions, io: Io): Promise<number> {
  const reading = readCan(run, { root: options.root, env: io.env });
  switch (reading.type) {
    case 'ok': {
      const { id, state, possible } = reading;
      if (options.json === true) await printJson(io, { id, state, possible });
      else if (possible.length === 0) io.out.line(`nothing: the run is ${state}`);
      else for (const one of possible) io.out.line(asTyped(id, one));
      return EXIT.ok;
    }
    case 'unwritten':
      return fail(io, EXIT.unreadable, `run ${reading.id} has no status yet (${reading.dir.path})`);
    case 'corrupt':
    case 'newer':
      return failUnreadable(io, reading);
    case 'missing':
    case 'ambiguous':
      return failNotFound(io, reading);
  }
}

/** Ready to be typed, but for what only the person knows. */
function asTyped(run: string, { command, step, ask }: Possible): string {
  const ofStep = step === undefined ? '' : ` --step ${step}`;
  switch (command) {
    case 'stop':
    case 'interrupt':
    case 'resume':
      return `coxswain ${command} ${run}${ofStep}`;
    case 'steer':
      return `coxswain steer ${run} <text>${ofStep}`;
    case 'append':
      return `coxswain append ${run} <file>`;
    case 'extend':
      return `coxswain extend ${run} <time>${ofStep}`;
    case 'answer':
      return `coxswain answer ${run} ${ask ?? '<ask>'} <text>`;
  }
}
