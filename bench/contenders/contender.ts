export interface Job {
  /** Command steps of /bin/true. */
  steps: number;
  /** At most so many at one time. */
  concurrency: number;
  /** An empty folder of this round's own; removed by whoever made it. */
  folder: string;
}

/** One way to run the job. Resolves with the milliseconds it took, without its own preparations. */
export type Contender = (job: Job) => Promise<number>;

export const PROGRAM = '/bin/true';
