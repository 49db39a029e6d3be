/** The part that the client may load. */
export { type Standing, standingOf } from './standing.ts';
