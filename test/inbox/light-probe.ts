import * as inbox from '../../src/inbox/light.ts';
import * as record from '../../src/record/light.ts';

// Loads the light doors and uses both, as the client does.
const ok = typeof inbox.sendCommand === 'function' && record.listRuns('/nowhere/at/all').runs.length === 0;
process.stdout.write(JSON.stringify({ ok }));
