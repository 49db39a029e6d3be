import type {
  Answer,
  CommandType,
  Progress,
  RejectReason,
  Target,
  UndeliveredReason,
  Verdicts,
} from '../../machines/protocol.ts';

/** What a command was answered, as its sender in this process gets it; the file beside it says the same. */
export interface Answered {
  id: string;
  type: CommandType | 'unknown';
  /** `accepted` and `queued` are not the last word. */
  verdict: 'accepted' | 'queued' | Verdicts;
  final: boolean;
  /** Why it was refused, or not delivered; a stable word. */
  reason?: RejectReason | UndeliveredReason;
  at: string;
  /** Text for people. */
  detail?: string;
  /** What became of a message at each step, where it went to more than one. */
  targets?: Target[];
  /** Undelivered, but some of the steps took it. */
  partial?: boolean;
}

export function answered({ command, ...answer }: Answer): Answered {
  return { ...answer, type: command as CommandType, final: true };
}

interface Waiting {
  /** Hears what comes before the final verdict, too. */
  first: boolean;
  tell: (answer: Answered) => void;
}

/** Those in this process who wait for the answer to a command. */
export class Callers {
  readonly #waiting = new Map<string, Waiting[]>();

  /** Rejects with the signal's reason when it is aborted: the command stands all the same. */
  wait(
    id: string,
    { first = false, signal }: { first?: boolean; signal?: AbortSignal | undefined } = {},
  ): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        first,
        tell: (answer) => {
          signal?.removeEventListener('abort', onAbort);
          resolve(answer);
        },
      };
      const onAbort = (): void => {
        this.#remove(id, waiting);
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- whatever the caller's signal says
        reject(signal?.reason);
      };
      if (signal?.aborted === true) {
        onAbort();
        return;
      }
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#waiting.set(id, [...(this.#waiting.get(id) ?? []), waiting]);
    });
  }

  tell(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id) ?? [];
    this.#waiting.delete(answer.id);
    for (const one of waiting) one.tell(answered(answer));
  }

  tellFirst({ id, command, verdict, at }: Omit<Progress, 'verdict'> & { verdict: 'accepted' | 'queued' }): void {
    for (const one of this.#waiting.get(id) ?? []) {
      if (!one.first) continue;
      this.#remove(id, one);
      one.tell({ id, type: command as CommandType, verdict, at, final: false });
    }
  }

  /** Nobody is there any more who could answer. */
  endAll(answer: (id: string) => Answer): void {
    for (const id of this.#waiting.keys()) this.tell(answer(id));
  }

  #remove(id: string, waiting: Waiting): void {
    const rest = (this.#waiting.get(id) ?? []).filter((one) => one !== waiting);
    if (rest.length === 0) this.#waiting.delete(id);
    else this.#waiting.set(id, rest);
  }
}
