/** Largest command file, in bytes. */
export const maxCommandBytes = 256 * 1024;
/** Read before it is acted on, in entries and in bytes; what is beyond makes another batch. */
export const mostPerBatch = 16_384;
export const mostBatchBytes = 16 * 1024 * 1024;
/** How long a batch may keep the loop, in milliseconds, before everything else has a turn. */
export const sliceMs = 100;
/** Notes kept in `rejected/`; receipts say the same. */
export const mostNotes = 200;
/** So many entries take long enough to read that the stops among them are looked for first. */
export const manyEntries = 256;
/** Of what lies in the inbox of a run that has ended: answered by one reader, who wanted something else. */
export const leftoversPerRead = 32;
/** And how long it may take, in milliseconds: a disk can be slow. */
export const leftoversMs = 250;
