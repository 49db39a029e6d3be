/**
 * Which variables hold secrets, by their names. A name is taken apart at `_` and `-`; case does not matter.
 *
 * - anywhere in the name: TOKEN, SECRET, PASSWORD, PASSWD, PASSPHRASE, CREDENTIAL, COOKIE, PRIVATE, APIKEY
 * - as a whole part: AUTH, OAUTH, AUTHORIZATION, PASS, PWD (not the whole name), PAT, DSN, SIGNATURE, BEARER, JWT
 * - at the end of a part: KEY, KEYS
 */
const anywhere = /TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|COOKIE|PRIVATE|APIKEY/;
const wholePart = /^(?:O?AUTH|AUTHORIZATION|PASS|PAT|DSN|SIGNATURE|BEARER|JWT|PWD)$/;
const endOfPart = /KEYS?$/;

/** Ours: it marks a process tree, is written to the journal on purpose, and opens nothing. */
const notSecret = new Set(['COXSWAIN_TOKEN']);
/** The shell's folders. */
const folders = new Set(['PWD', 'OLDPWD']);

export function looksSecret(name: string): boolean {
  const upper = name.toUpperCase();
  if (notSecret.has(upper) || folders.has(upper)) return false;
  return anywhere.test(upper) || upper.split(/[_-]+/).some((part) => wholePart.test(part) || endOfPart.test(part));
}

/** Values shorter than this are no secrets one could find again without damage. */
const leastChars = 8;

export type Redactor = (text: string) => string;

/**
 * Makes a function that replaces every value (8 characters and more) of a variable with a secret-looking name, in any of
 * the environments, by `[redacted NAME]`. Longer values go first, so one that contains another is replaced whole. A value is also found
 * without the white space around it, and in the form JSON gives it. Not found: values that were encoded, split or cut.
 * Costs one search of the text per value and form when nothing matches.
 */
export function createRedactor(...envs: Readonly<Record<string, string | undefined>>[]): Redactor {
  const secrets = new Map<string, string>();
  for (const [name, value] of envs.flatMap((env) => Object.entries(env))) {
    if (value === undefined || !looksSecret(name)) continue;
    for (const form of formsOf(value)) {
      if (form.length >= leastChars && !secrets.has(form)) secrets.set(form, `[redacted ${name}]`);
    }
  }
  const ordered = [...secrets].toSorted(([a], [b]) => b.length - a.length);
  return (text) => {
    let clean = text;
    for (const [value, mark] of ordered) if (clean.includes(value)) clean = clean.replaceAll(value, () => mark);
    return clean;
  };
}

function formsOf(value: string): string[] {
  const trimmed = value.trim();
  return [value, trimmed, JSON.stringify(value).slice(1, -1), JSON.stringify(trimmed).slice(1, -1)];
}
