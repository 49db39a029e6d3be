import { EventEmitter, once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import {
  type Ack,
  type Mailbox,
  type MailboxOptions,
  type MailboxPaths,
  createMailbox,
  mailboxEnvironment,
  mailboxPaths,
  openMailbox,
} from '../../src/mailbox/index.ts';

interface Rig {
  dir: string;
  paths: MailboxPaths;
  mailbox: Mailbox;
  acks: Ack[];
  asked: { id: string; text: string; expiresMs: number | null }[];
  gone: string[];
  capabilities: number;
  problems: string[];
  /** Resolves once it holds, looked at after each thing that is told. */
  told(holds: () => boolean): Promise<void>;
  /** As a child writes: in one step. `below` is a path from `steer` or `ask` on. */
  put(below: string, value: unknown): void;
  read(below: string): unknown;
}

const filesIn = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isDirectory() ? [] : [entry.name],
  );

const rigs: Rig[] = [];
afterEach(() => {
  for (const { mailbox, dir } of rigs.splice(0)) {
    mailbox.close();
    rmSync(dir, { recursive: true, force: true });
  }
});

function rig(options: Partial<MailboxOptions> = {}, folders: 'expected' | 'declared' = 'expected'): Rig {
  const dir = mkdtempSync(join(tmpdir(), 'coxswain-mailbox-'));
  const paths = mailboxPaths(dir);
  expect(createMailbox(paths, folders)).toEqual({ type: 'ok' });
  const news = new EventEmitter();
  const made: Omit<Rig, 'mailbox'> = {
    dir,
    paths,
    acks: [],
    asked: [],
    gone: [],
    capabilities: 0,
    problems: [],
    async told(holds) {
      while (!holds()) await once(news, 'told');
    },
    put(below, value) {
      const temporary = join(dir, 'half');
      writeFileSync(temporary, typeof value === 'string' ? value : JSON.stringify(value));
      renameSync(temporary, join(dir, below));
    },
    read: (below) => JSON.parse(readFileSync(join(dir, below), 'utf8')) as unknown,
  };
  const tell = (): boolean => news.emit('told');
  const mailbox = openMailbox(paths, {
    listens: 'declared',
    // Whatever is found is found by watching.
    safetyMs: 60_000,
    onAck: (ack) => void (made.acks.push(ack), tell()),
    onAsk: (ask) => void (made.asked.push(ask), tell()),
    onAskGone: (id) => void (made.gone.push(id), tell()),
    onCapability: () => void ((made.capabilities += 1), tell()),
    onProblem: ({ code }) => void (made.problems.push(code), tell()),
    ...options,
  });
  const whole: Rig = Object.assign(made, { mailbox });
  rigs.push(whole);
  return whole;
}

const CAPABLE = { v: 1, modes: ['now', 'next'] };
const listening = (options: Partial<MailboxOptions> = {}): Rig => {
  const made = rig(options);
  made.put('steer/capability.json', CAPABLE);
  return made;
};
const message = (id: string, mode: 'now' | 'next' | 'auto' = 'now') => ({ id, mode, text: `text of ${id}` });
const ask = (id: string, more: object = {}) => ({ v: 1, id, text: `question ${id}`, ...more });
const ack = (id: string, state: string, more: object = {}) => ({ v: 1, id, state, ...more });

describe('a review in the background', () => {
  test('is heard of when it changes, at once when it is asked for, and last at the end; what is none is passed over', async () => {
    const reviews: object[] = [];
    const made = rig({ onReview: (review) => reviews.push(review) });
    made.mailbox.look();
    expect(reviews).toEqual([]);
    made.put('ask/review.json', { v: 1, seq: 1, active: true, more: 'passed over' });
    made.mailbox.look();
    expect(reviews).toEqual([{ seq: 1, active: true }]);
    made.mailbox.look();
    expect(reviews).toHaveLength(1);
    made.put('ask/review.json', { v: 1, seq: -1, active: true });
    await made.told(() => made.problems.includes('bad-file'));
    made.put('ask/review.json', { v: 1, seq: 2, active: false });
    made.mailbox.close();
    expect(reviews).toEqual([
      { seq: 1, active: true },
      { seq: 2, active: false },
    ]);
    expect(existsSync(join(made.dir, 'ask/review.json'))).toBe(false);
  });
});

describe('a message', () => {
  test('cannot be given to a child that has not said that it listens', () => {
    const made = rig();
    expect(made.mailbox.steer(message('m'))).toBe('unsupported');
    expect(readdirSync(join(made.dir, 'steer/requests'))).toEqual([]);
    made.put('steer/capability.json', CAPABLE);
    expect(made.mailbox.steer(message('m'))).toBe('sent');
  });

  test('waits for a child that will listen', () => {
    expect(rig({ listens: 'expected' }).mailbox.steer(message('m'))).toBe('sent');
  });

  test('in a mode that the child has not is unsupported; auto is for every child', () => {
    const made = rig();
    made.put('steer/capability.json', { v: 1, modes: ['next'] });
    expect(made.mailbox.steer(message('a', 'now'))).toBe('unsupported');
    expect(made.mailbox.steer(message('b', 'next'))).toBe('sent');
    expect(made.mailbox.steer(message('c', 'auto'))).toBe('sent');
  });

  test.each([
    ['not JSON', '{'],
    ['of a later version', { v: 2, modes: ['now'] }],
    ['without a mode', { v: 1, modes: [] }],
    ['with another mode', { v: 1, modes: ['soon'] }],
    ['too large', { ...CAPABLE, padding: 'x'.repeat(5000) }],
  ])('is unsupported by a capability file %s', (_what, file) => {
    const made = rig();
    made.put('steer/capability.json', file);
    expect(made.mailbox.steer(message('m'))).toBe('unsupported');
    expect(made.problems).toEqual(['bad-file']);
  });

  test('is one file that only we can read, and is put there in one step', () => {
    const made = listening();
    expect(made.mailbox.steer(message('m', 'next'))).toBe('sent');
    expect(made.mailbox.steer(message('m', 'next'))).toBe('sent');
    expect(readdirSync(join(made.dir, 'steer/requests'))).toEqual(['000001-m.json']);
    expect(made.read('steer/requests/000001-m.json')).toEqual({ v: 1, id: 'm', mode: 'next', text: 'text of m' });
    const modes = ['steer', 'steer/requests', 'ask/answers', 'steer/requests/000001-m.json'].map(
      (below) => statSync(join(made.dir, below)).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o700, 0o700, 0o600]);
  });

  test('gets on as the child acknowledges it, and never back', async () => {
    const made = listening();
    made.mailbox.steer(message('m'));
    for (const state of ['queued', 'taken']) {
      made.put('steer/acks/000001-m.json', ack('m', state));
      await made.told(() => made.acks.at(-1)?.state === state);
    }
    made.put('steer/acks/000001-m.json', ack('m', 'queued'));
    made.mailbox.steer(message('other'));
    made.put('steer/acks/000002-other.json', ack('other', 'delivered'));
    await made.told(() => made.acks.some(({ id }) => id === 'other'));
    made.put('steer/acks/000001-m.json', ack('m', 'delivered'));
    await made.told(() => made.acks.at(-1)?.state === 'delivered' && made.acks.length === 4);
    expect(made.acks.filter(({ id }) => id === 'm').map(({ state }) => state)).toEqual([
      'queued',
      'taken',
      'delivered',
    ]);
    // Its text lies there no longer than it is needed, and what comes later is not read.
    expect(readdirSync(join(made.dir, 'steer/requests'))).toEqual([]);
    expect(readdirSync(join(made.dir, 'steer/acks'))).toEqual([]);
    made.put('steer/acks/000001-m.json', ack('m', 'undelivered', { reason: 'failed' }));
    made.mailbox.close();
    expect(made.acks).toHaveLength(4);
  });

  test('with an id that is no file name has one all the same', async () => {
    const made = listening();
    const id = '../../../etc/passwd';
    expect(made.mailbox.steer(message(id))).toBe('sent');
    const [file = ''] = readdirSync(join(made.dir, 'steer/requests'));
    expect(made.read(`steer/requests/${file}`)).toMatchObject({ id });
    made.put(`steer/acks/${file}`, ack(id, 'delivered'));
    await made.told(() => made.acks.length > 0);
    expect(made.acks).toEqual([{ id, state: 'delivered' }]);
  });

  test.each([
    ['sent', [], 'unconfirmed'],
    ['queued', ['queued'], 'step-ended'],
    ['taken', ['queued', 'taken'], 'aborted'],
  ])('that was only %s has its end when the child has ended', (_state, states, reason) => {
    const made = listening();
    made.mailbox.steer(message('m'));
    for (const state of states) made.put('steer/acks/000001-m.json', ack('m', state));
    // Nobody has looked yet: the last look is at the close.
    made.mailbox.close();
    expect(made.acks.at(-1)).toEqual({ id: 'm', state: 'undelivered', reason });
    expect(filesIn(made.dir)).toEqual([]);
    expect(made.mailbox.steer(message('n'))).toBe('failed');
  });

  test('for a child that never came to listen was never taken', () => {
    const made = rig({ listens: 'expected' });
    made.mailbox.steer(message('m'));
    made.mailbox.close();
    expect(made.acks).toEqual([{ id: 'm', state: 'undelivered', reason: 'step-ended' }]);
  });
});

describe('an acknowledgement', () => {
  test.each([
    ['not JSON', '{"v":1'],
    ['of another message', ack('n', 'delivered')],
    ['of a later version', { ...ack('m', 'delivered'), v: 2 }],
    ['with an unknown state', ack('m', 'eaten')],
    ['without a reason', ack('m', 'undelivered')],
    ['with a reason that is not its to give', ack('m', 'undelivered', { reason: 'run-ended' })],
    ['too large', ack('m', 'delivered', { padding: 'x'.repeat(5000) })],
  ])('%s is none', async (_what, file) => {
    const made = listening();
    made.mailbox.steer(message('m'));
    made.put('steer/acks/000001-m.json', file);
    await made.told(() => made.problems.length > 0);
    expect(made.problems).toEqual(['bad-file']);
    // A good one still counts.
    made.put('steer/acks/000001-m.json', ack('m', 'delivered'));
    await made.told(() => made.acks.length > 0);
    expect(made.acks).toEqual([{ id: 'm', state: 'delivered' }]);
  });

  test.each(['a link', 'a folder'])('that is %s is none', async (what) => {
    const made = listening();
    made.mailbox.steer(message('m'));
    made.put('elsewhere.json', ack('m', 'delivered'));
    const path = join(made.dir, 'steer/acks/000001-m.json');
    if (what === 'a link') symlinkSync(join(made.dir, 'elsewhere.json'), path);
    else mkdirSync(path);
    await made.told(() => made.problems.length > 0);
    expect(made.acks).toEqual([]);
    made.mailbox.close();
    // What a link led to is not ours to remove.
    expect(made.read('elsewhere.json')).toMatchObject({ id: 'm' });
  });
});

describe('an ask', () => {
  test('is told once, and answered', async () => {
    const made = rig();
    made.put('ask/requests/q.json', ask('q', { expiresMs: 1000 }));
    await made.told(() => made.asked.length > 0);
    made.put('ask/requests/r.json', ask('r'));
    await made.told(() => made.asked.length > 1);
    expect(made.asked).toEqual([
      { id: 'q', text: 'question q', expiresMs: 1000 },
      { id: 'r', text: 'question r', expiresMs: null },
    ]);
    expect(made.mailbox.answer('q', { text: 'blue' })).toBe('answered');
    expect(made.mailbox.answer('r', { declined: 'expired' })).toBe('answered');
    expect(made.read('ask/answers/q.json')).toEqual({ v: 1, id: 'q', state: 'answered', text: 'blue' });
    expect(made.read('ask/answers/r.json')).toEqual({ v: 1, id: 'r', state: 'declined', reason: 'expired' });
    expect(readdirSync(join(made.dir, 'ask/requests'))).toEqual([]);
    expect(made.mailbox.answer('q', { text: 'red' })).toBe('gone');
    made.mailbox.close();
    expect(made.gone).toEqual([]);
  });

  test('that the child takes back is gone, and so is every other when it has ended', async () => {
    const made = rig();
    for (const id of ['q', 'r']) made.put(`ask/requests/${id}.json`, ask(id));
    await made.told(() => made.asked.length === 2);
    rmSync(join(made.dir, 'ask/requests/q.json'));
    await made.told(() => made.gone.length > 0);
    expect(made.mailbox.answer('q', { text: 'too late' })).toBe('gone');
    made.mailbox.close();
    expect(made.gone).toEqual(['q', 'r']);
    expect(made.mailbox.answer('r', { text: 'too late' })).toBe('gone');
  });

  test.each([
    ['not JSON', 'x'],
    ['without a text', { v: 1, id: 'q', text: '' }],
    ['too long', { v: 1, id: 'q', text: 'x'.repeat(20_000) }],
    ['too large', { v: 1, id: 'q', text: 'x', padding: 'x'.repeat(200_000) }],
    ['with another id', { v: 1, id: 'z', text: 'x' }],
    ['that never ends', { v: 1, id: 'q', text: 'x', expiresMs: 1e12 }],
  ])('%s is declined, so that nobody waits', async (_what, file) => {
    const made = rig();
    made.put('ask/requests/q.json', file);
    await made.told(() => made.problems.length > 0);
    expect(made.read('ask/answers/q.json')).toMatchObject({ state: 'declined', reason: 'invalid' });
    expect(made.asked).toEqual([]);
  });

  test('with a name that is no id, or an id that was there before, is not one', async () => {
    const made = rig();
    made.put('ask/requests/-q.json', ask('-q'));
    made.put('ask/requests/.hidden.json', ask('.hidden'));
    made.put('ask/requests/q.json', ask('q'));
    await made.told(() => made.asked.length > 0 && made.problems.length > 0);
    made.mailbox.answer('q', { text: 'blue' });
    made.put('ask/requests/q.json', ask('q'));
    await made.told(() => made.problems.length > 1);
    expect(made.problems).toEqual(['bad-file', 'bad-file']);
    expect(made.asked.map(({ id }) => id)).toEqual(['q']);
    // The answer that may not have been read yet stands.
    expect(made.read('ask/answers/q.json')).toMatchObject({ text: 'blue' });
    expect(readdirSync(join(made.dir, 'ask/requests'))).toEqual(['.hidden.json']);
  });

  test('one more than can wait is declined, and a flood is not read', async () => {
    const made = rig();
    for (let n = 0; n < 300; n += 1) made.put(`ask/requests/q${n}.json`, ask(`q${n}`));
    await made.told(() => made.problems.includes('too-many') && made.asked.length >= 16);
    expect(made.asked).toHaveLength(16);
    const [name = ''] = readdirSync(join(made.dir, 'ask/answers'));
    expect(made.read(`ask/answers/${name}`)).toMatchObject({ state: 'declined', reason: 'too-many' });
    expect(made.gone).toEqual([]);
  });
});

describe('a folder that the child puts in the place of ours', () => {
  test.each(['a link', 'a folder'])('%s: nothing is written there, and nothing read', async (what) => {
    const made = listening();
    made.mailbox.steer(message('before'));
    made.put('ask/requests/q.json', { v: 1, id: 'q', text: 'x' });
    await made.told(() => made.asked.length > 0);
    const elsewhere = join(made.dir, 'elsewhere');
    mkdirSync(elsewhere);
    writeFileSync(join(elsewhere, '000001-before.json'), JSON.stringify(ack('before', 'delivered')));
    for (const below of ['steer/requests', 'steer/acks', 'ask/requests', 'ask/answers']) {
      renameSync(join(made.dir, below), join(made.dir, `was-${below.replace('/', '-')}`));
      if (what === 'a link') symlinkSync(elsewhere, join(made.dir, below));
      else mkdirSync(join(made.dir, below));
    }
    expect(made.mailbox.steer(message('m'))).toBe('failed');
    expect(made.mailbox.answer('q', { text: 'blue' })).toBe('failed');
    await made.told(() => made.problems.includes('folder-replaced'));
    made.mailbox.close();
    expect(made.acks).toEqual([{ id: 'before', state: 'undelivered', reason: 'unconfirmed' }]);
    expect(readdirSync(elsewhere)).toEqual(['000001-before.json']);
  });
});

test('a folder that the child puts in the place of all of ours: the same', () => {
  const made = listening();
  expect(made.mailbox.steer(message('before'))).toBe('sent');
  const elsewhere = join(made.dir, 'elsewhere');
  mkdirSync(elsewhere);
  for (const path of [made.paths.steer, made.paths.ask]) {
    renameSync(path, `${path}-was`);
    symlinkSync(elsewhere, path);
  }
  expect(made.mailbox.steer(message('m'))).toBe('failed');
  made.mailbox.close();
  expect(readdirSync(elsewhere)).toEqual([]);
  // The link is gone, not what it leads to.
  expect(existsSync(made.paths.steer)).toBe(false);
});

test('for a child that may not even look, little is made: the rest comes when there is something to put in', async () => {
  const made = rig({}, 'declared');
  expect([readdirSync(made.paths.steer), readdirSync(made.paths.ask)]).toEqual([[], []]);
  made.put('steer/capability.json', CAPABLE);
  await made.told(() => made.capabilities > 0);
  expect(made.mailbox.steer(message('m'))).toBe('sent');
  mkdirSync(join(made.dir, 'steer/acks'));
  made.put('steer/acks/000001-m.json', ack('m', 'queued'));
  await made.told(() => made.acks.length > 0);
  made.put('steer/acks/000001-m.json', ack('m', 'delivered'));
  await made.told(() => made.acks.length > 1);
  mkdirSync(join(made.dir, 'ask/requests'));
  made.put('ask/requests/q.json', ask('q'));
  await made.told(() => made.asked.length > 0);
  made.put('ask/requests/r.json', ask('r'));
  await made.told(() => made.asked.length > 1);
  expect(made.mailbox.answer('q', { text: 'blue' })).toBe('answered');
  expect(made.read('ask/answers/q.json')).toMatchObject({ text: 'blue' });
  made.mailbox.close();
  expect(made.problems).toEqual([]);
  expect(filesIn(made.dir)).toEqual([]);
});

describe('watching', () => {
  const nothing = { close: () => {} };
  const start: Record<string, NonNullable<MailboxOptions['start']>> = {
    'tells nothing': () => nothing,
    'cannot begin': () => {
      throw Object.assign(new Error('too many'), { code: 'EMFILE' });
    },
    'fails later': (_folder, _hint, failed) => {
      setImmediate(() => failed(new Error('no space')));
      return nothing;
    },
  };
  test.each(Object.entries(start))('that %s: a poll finds it', async (what, begin) => {
    const made = listening({ start: begin, safetyMs: 5, pollMs: 5 });
    made.mailbox.steer(message('m'));
    made.put('steer/acks/000001-m.json', ack('m', 'queued'));
    await made.told(() => made.acks.length > 0);
    made.put('steer/acks/000001-m.json', ack('m', 'delivered'));
    await made.told(() => made.acks.length > 1);
    expect(made.problems).toEqual(what === 'tells nothing' ? [] : ['polling']);
    expect(made.capabilities).toBe(1);
  });
});

test('a child is told of its own folders, and of no others', () => {
  const outer = { PATH: '/bin', COXSWAIN_STEER_DIR: '/outer/steer', COXSWAIN_ASK_DIR: '/outer/ask' };
  expect(mailboxEnvironment(outer, {})).toEqual({ PATH: '/bin' });
  expect(mailboxEnvironment(outer, { ask: '/a' })).toEqual({ PATH: '/bin', COXSWAIN_ASK_DIR: '/a' });
  expect(mailboxEnvironment({}, mailboxPaths('/x'))).toEqual({
    COXSWAIN_STEER_DIR: join('/x', 'steer'),
    COXSWAIN_ASK_DIR: join('/x', 'ask'),
  });
});
