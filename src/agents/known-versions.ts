/** A minor version of an agent whose records its adapter was made for, and where they were seen. */
export interface KnownVersion {
  /** Major and minor: every patch of it. */
  version: string;
  /** Its captured streams in `test/fixtures`. */
  captured: string;
  /** The program itself is driven by the tests. */
  driven: boolean;
}

/** By adapter. Those that are not here speak for many programs, whose versions say nothing. */
export const KNOWN_VERSIONS: Readonly<Record<string, readonly KnownVersion[]>> = {
  claude: [{ version: '2.1', captured: 'claude-2.1.197', driven: false }],
  codex: [{ version: '0.171', captured: 'codex-0.171.0', driven: true }],
  gemini: [{ version: '0.61', captured: 'gemini-cli-0.61.0', driven: false }],
  opencode: [{ version: '1.18', captured: 'opencode-1.18.33', driven: false }],
  pi: [
    { version: '0.73', captured: 'pi-0.73.1', driven: true },
    { version: '1.6', captured: 'pi-1.6.0', driven: false },
  ],
};

/** What is known of what a program said its version was. */
export interface VersionKnown {
  /** False for a version that nobody looked at, and for words without one. */
  known: boolean;
  /** Of an unknown one, for people: what that may come to. Null for a known one. */
  warning: string | null;
}

/** Null where versions say nothing. `said`: the line that `--version` printed, null when there was none. */
export function versionKnown(adapter: string, said: string | null): VersionKnown | null {
  const versions = KNOWN_VERSIONS[adapter]?.map(({ version }) => version);
  if (versions === undefined) return null;
  const found = /(?<![\d.])\d+\.\d+(?![\d])/.exec(said ?? '')?.[0];
  if (found !== undefined && versions.includes(found)) return { known: true, warning: null };
  const which = versions.join(' and ');
  const warning =
    found === undefined
      ? `it does not say its version; coxswain knows ${which}`
      : `coxswain knows ${which}, and not ${found}: it is driven all the same, and may say what is not understood`;
  return { known: false, warning };
}
