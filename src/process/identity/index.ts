// The light part of process/: who is who. Loads no execa, so the client entry and the host room may use it.
export { bootId, identify, isSame, startTimeOf, type Identity } from './identity.ts';
