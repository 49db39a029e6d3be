/** Commands that nobody would send: random ones, and good ones that something has happened to. All from one seed. */
export class Fuzz {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** From 0 to 1, as mulberry32 has it. */
  next(): number {
    this.#state = (this.#state + 0x6d_2b_79_f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  pick<T>(from: readonly [T, ...T[]]): T {
    return from[this.below(from.length)] ?? from[0];
  }

  /** The text of a command file. */
  text(): string {
    const kind = this.below(10);
    if (kind === 0) return this.#noise(this.below(200));
    const text = JSON.stringify(this.#command());
    if (kind < 4) return text;
    if (kind < 6) return text.slice(0, this.below(text.length));
    if (kind < 8) return this.#bruise(text);
    return JSON.stringify(this.#twist(this.#command()));
  }

  /** A file name: no slash and no NUL, at most 255 bytes. */
  name(): string {
    const length = 1 + this.below(this.below(4) === 0 ? 80 : 12);
    const stem = Array.from({ length }, () => this.pick(NAME)).join('');
    return `${stem}${this.pick(['.json', '.json', '', '.JSON', '.tmp', '.json.json'])}`;
  }

  #command(): Record<string, unknown> {
    const type = this.pick(['stop', 'interrupt', 'resume', 'steer', 'append', 'extend', 'answer']);
    return {
      v: 1,
      ...(this.below(3) === 0
        ? {}
        : { id: this.pick([`c${this.below(500)}`, '../../evil', '', '/etc/passwd', 'a\0b', 'ü'.repeat(300)]) }),
      type,
      ...(this.below(2) === 0 ? {} : { step: this.pick(['a', 'b', '../a']) }),
      source: 'fuzz',
      ...FIELDS[type],
    };
  }

  /** Another value in the place of a good one. */
  #twist(command: Record<string, unknown>): unknown {
    const keys = Object.keys(command) as [string, ...string[]];
    const key = this.below(4) === 0 ? this.pick(['__proto__', 'constructor', 'v', 'toString', '']) : this.pick(keys);
    return Object.fromEntries([...Object.entries(command), [key, this.#value(0)]]);
  }

  #value(depth: number): unknown {
    switch (this.below(depth > 5 ? 8 : 10)) {
      case 0:
        return null;
      case 1:
        return this.next() * 1e12;
      case 2:
        return this.below(2) === 0;
      case 3:
        return this.#noise(this.below(40));
      case 4:
        return this.pick([-1, 0, 1, 2, 1e308, -0.5]);
      case 5:
        return this.pick([
          'now',
          '10m',
          '-5m',
          '1e9d',
          '2026-12-01T10:00:00Z',
          '+275760-09-13T00:00:00.000Z',
          '9999-12-31T23:59:59Z',
        ]);
      case 6:
        return 'x'.repeat(this.below(50) === 0 ? 140_000 : 300);
      case 7:
        return deep(this.below(100));
      case 8:
        return Array.from({ length: this.below(4) }, () => this.#value(depth + 1));
      default:
        return { [this.#noise(3)]: this.#value(depth + 1) };
    }
  }

  #noise(length: number): string {
    return Array.from({ length }, () => String.fromCharCode(this.below(this.below(4) === 0 ? 0x1_00_00 : 128))).join(
      '',
    );
  }

  #bruise(text: string): string {
    const at = this.below(text.length);
    const some = this.pick(['', '"', '{', '}', ',', '\\', '\u0000', '\uD800', '1e999', '//', this.#noise(2)]);
    return text.slice(0, at) + some + text.slice(at + this.below(3));
  }
}

/** In every text that must stay where it is. */
export const SENTINEL = 'sentinel-of-the-fuzz';

const FIELDS: Record<string, object> = {
  stop: { reason: 'enough' },
  interrupt: {},
  resume: {},
  steer: { text: `${SENTINEL} \u{1F600}`, mode: 'next', expires: '10m' },
  append: { steps: [{ id: 'z', task: SENTINEL }] },
  extend: { deadline: '1h' },
  answer: { ask: 'q', text: SENTINEL },
};

const NAME = Array.from('abcABC019-_.~ \n\t\u20ac"\'`$\\*?:|<>%') as [string, ...string[]];

function deep(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value };
  return value;
}
