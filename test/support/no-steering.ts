import type { Status } from '../../machines/protocol.ts';

/** Of a run that nobody has spoken to. */
export const NO_STEERING: Status['steering'] = {
  counts: {
    requested: 0,
    scheduled: 0,
    recovering: 0,
    routed: 0,
    queued: 0,
    delivered: 0,
    undelivered: 0,
    partial: 0,
    late: 0,
  },
  recent: [],
};
