/** Shows how a run goes on. */
export interface View {
  /** The run has ended: shows what is left to show, and leaves the output as it was found. */
  close(): Promise<void>;
}
