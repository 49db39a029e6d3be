import type { Redactor } from '../record/index.ts';

/** A value as JSON without secrets: in its texts, its names, and numbers that are one. It stays JSON. */
export function withoutSecrets(json: string, redact: Redactor): string {
  if (redact(json) === json) return json;
  return JSON.stringify(clean(JSON.parse(json), redact));
}

function clean(value: unknown, redact: Redactor): unknown {
  if (typeof value === 'string') return redact(value);
  if (typeof value === 'number') {
    const safe = redact(String(value));
    return safe === String(value) ? value : safe;
  }
  if (Array.isArray(value)) return value.map((inner) => clean(inner, redact));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [redact(name), clean(inner, redact)]));
}
