/** What becomes of an inbox that nobody reads any more: a door of its own, for it loads less than the sender's. */
export { answerLeftovers, decideLate, hasLeftovers } from './leftovers.ts';
