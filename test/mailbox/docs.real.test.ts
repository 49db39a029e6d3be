import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import {
  type Ack,
  type Mailbox,
  createMailbox,
  mailboxEnvironment,
  mailboxPaths,
  openMailbox,
} from '../../src/mailbox/index.ts';
import {
  MAX_ACK_BYTES,
  MAX_ASK_BYTES,
  MAX_ASK_CHARS,
  ackSchema,
  answerSchema,
  askSchema,
  capabilitySchema,
  reviewSchema,
  steerRequestSchema,
} from '../../src/mailbox/schemas.ts';
import { MAX_OPEN_ASKS } from '../../src/mailbox/asks.ts';
import { page, rowsIn, section, spansIn } from '../docs/markdown.ts';

const contract = page('docs/mailbox.md');
const shown = (mark: string): string[] =>
  contract.blocks.filter(({ marks }) => marks.includes(mark)).map((block) => block.text);
const firsts = (title: string, heading: string): string[] =>
  rowsIn(section(contract, title), heading).map((cells) => spansIn(cells[0] ?? '')[0] ?? '');

describe('the contract', () => {
  test.each<[string, z.ZodType, number]>([
    ['capability', capabilitySchema, 1],
    ['request', steerRequestSchema, 1],
    ['ack', ackSchema, 1],
    ['ask', askSchema, 1],
    ['answer', answerSchema, 2],
    ['review', reviewSchema, 1],
  ])('every %s that is shown is one', (mark, schema, count) => {
    const samples = shown(mark).map((sample) => JSON.parse(sample) as unknown);
    expect(samples).toHaveLength(count);
    for (const sample of samples) expect(schema.parse(sample)).toEqual(sample);
  });

  test('its words and numbers are those of the schemas', () => {
    const [going, ended] = ackSchema.options;
    expect(firsts('To be steered', 'mode')).toEqual(steerRequestSchema.shape.mode.options);
    expect(firsts('To be steered', 'state')).toEqual([...going.shape.state.options, ended.shape.state.value]);
    expect(firsts('To ask', 'reason')).toEqual(answerSchema.options[1].shape.reason.options);
    const reasons = rowsIn(section(contract, 'To be steered'), 'state').at(-1)?.[1] ?? '';
    expect(spansIn(reasons)).toEqual(['reason', ...ended.shape.reason.options]);
    const rules = section(contract, 'Three rules');
    expect(rules).toContain(`at most ${MAX_ACK_BYTES / 1024} KiB, a question ${MAX_ASK_BYTES / 1024} KiB`);
    expect(rules).toContain(`${MAX_ASK_CHARS.toLocaleString('en')} characters`);
    expect(section(contract, 'To ask')).toContain(`${MAX_OPEN_ASKS} of your questions`);
  });
});

describe('the example', () => {
  let dir: string;
  beforeAll(() => {
    dir = mkdtempSync(join(tmpdir(), 'coxswain-mailbox-docs-'));
    writeFileSync(join(dir, 'worker.mjs'), shown('worker')[0] ?? '');
  });
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  test('asks, is answered, and is steered', async () => {
    const paths = mailboxPaths(dir);
    createMailbox(paths, 'declared');
    const acks: Ack[] = [];
    const problems: string[] = [];
    const mailbox: Mailbox = openMailbox(paths, {
      listens: 'declared',
      onAck: (ack) => acks.push(ack),
      onAsk: ({ id, text: question }) => mailbox.answer(id, { text: question === 'Where to?' ? 'upstream' : '?' }),
      onAskGone: (id) => problems.push(`${id} is gone`),
      onCapability: () => {
        for (const [id, said] of [['m1', 'Mind the bridge.'] as const, ['m2', 'Land.'] as const]) {
          if (mailbox.steer({ id, mode: 'now', text: said }) !== 'sent') problems.push(id);
        }
      },
      onProblem: ({ message }) => problems.push(message),
    });
    const env = mailboxEnvironment({ PATH: process.env['PATH'] ?? '' }, paths);
    const child = spawn(process.execPath, [join(dir, 'worker.mjs')], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const [said] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    mailbox.close();
    expect(said).toBe('Rowing upstream.\nTold: Mind the bridge.\nTold: Land.\n');
    expect(problems).toEqual([]);
    expect(acks).toEqual(['m1', 'm2'].map((id) => ({ id, state: 'delivered' })));
  });
});
