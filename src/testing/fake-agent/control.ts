import type { Socket } from 'node:net';
import { type Notice, type Order, readLines } from './wire.ts';

/** The rig's end of one agent's control socket. */
export interface Control {
  /** Resolves with the pids of new processes when the agent has done it; rejects when it could not, or said nothing in time. */
  order(order: Order): Promise<number[]>;
  /** An order that ends the agent: resolves when the connection has closed. */
  last(order: Order): Promise<void>;
  /** The connection has closed: everything the agent said has been read. Never rejects. */
  readonly closed: Promise<void>;
}

/** What the agent says by itself. */
export type News = Exclude<Notice, { t: 'done' | 'failed' }>;

interface Waiting {
  resolve: (pids: number[]) => void;
  reject: (error: Error) => void;
}

export function createControl(socket: Socket, patienceMs: number, heard: (news: News) => void): Control {
  const waiting = new Map<number, Waiting>();
  let count = 0;
  let over = false;
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      over = true;
      for (const { reject } of waiting.values()) reject(new Error('the fake agent ended before it had done this'));
      resolve();
    });
  });

  readLines(socket, (line) => {
    const notice = JSON.parse(line) as Notice;
    if (notice.t === 'done') waiting.get(notice.id)?.resolve(notice.pids);
    else if (notice.t === 'failed') waiting.get(notice.id)?.reject(new Error(`fake agent: ${notice.message}`));
    else heard(notice);
  });

  const send = (order: Order): number => {
    if (over) throw new Error(`the fake agent has ended: it cannot "${order.do}"`);
    count += 1;
    socket.write(`${JSON.stringify({ ...order, id: count })}\n`);
    return count;
  };

  return {
    async order(order) {
      const id = send(order);
      const answer = new Promise<number[]>((resolve, reject) => waiting.set(id, { resolve, reject }));
      return inTime(answer, patienceMs, `to "${order.do}"`).finally(() => waiting.delete(id));
    },
    async last(order) {
      send(order);
      await inTime(closed, patienceMs, `to "${order.do}"`);
    },
    closed,
  };
}

/** Rejects when it takes longer. Leaves no timer. */
export async function inTime<T>(promise: Promise<T>, patienceMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`waited ${patienceMs} ms for the fake agent ${what}`)), patienceMs);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
