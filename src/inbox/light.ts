/** The sender's side of the inbox: loads nothing but `node:` modules and ulid. */
export { readReceipt } from './receipt.ts';
export { sendCommand, type Outgoing, type Sent } from './send.ts';
export { waitReceipt, type Waited, type WaitOptions } from './wait.ts';
