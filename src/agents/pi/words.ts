/** Takes along a message that came while pi was ending, and that it would not read by itself. */
export const ONE_MORE_FOLLOWS = 'One more message for you follows.';
