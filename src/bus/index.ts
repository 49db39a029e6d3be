/** How the parts of a run meet: envelope, interface, and the bus within one process. */
export type { Appended, Bus, CommandEnvelope, Delivery, Envelope, Recorded, Synced, TailOptions } from './bus.ts';
export { commandEnvelope } from './envelope.ts';
export { createLocalBus, type Attachment, type LocalBus, type LocalRun } from './local.ts';
export type { EventLog } from './tail.ts';
