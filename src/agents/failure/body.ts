import { waitInFields } from './wait.ts';

/** What an error's text carries in a form made for programs, and what is left of it for reading. */
export interface Body {
  status: number | null;
  /** Error codes as the provider calls them, those that say most first. */
  names: string[];
  retryAfterMs: number | null;
  /** The sentences: around the JSON, and its messages. */
  sentences: string[];
}

/** Takes the JSON out of an error's text, wherever it stands in it; without any, all of it is one sentence. */
export function readBody(text: string): Body {
  const from = text.indexOf('{');
  const to = text.lastIndexOf('}');
  const value = from < 0 || to < from ? undefined : parsed(text.slice(from, to + 1));
  if (value === undefined) return { status: null, names: [], retryAfterMs: null, sentences: [text] };
  const layers = layersOf(value, 0);
  const around = [text.slice(0, from), text.slice(to + 1)].filter((part) => part.trim() !== '');
  return {
    status: first(layers, statusIn),
    names: NAME_KEYS.flatMap((key) => layers.flatMap((layer) => nameIn(layer[key]))),
    retryAfterMs: first(layers, waitInFields),
    sentences: [...around, ...layers.flatMap(sentencesIn)],
  };
}

type Layer = Readonly<Record<string, unknown>>;

// `type` is often no more than "invalid_request_error".
const NAME_KEYS = ['error_code', 'errorCode', 'code', '__type', 'type', 'reason', 'status'];
const STATUS_KEYS = ['status', 'statusCode', 'status_code', 'http_status', 'httpStatus', 'code', 'error_status'];
const SENTENCE_KEYS = ['message', 'error', 'error_description', 'detail', 'msg', 'title'];
/** Providers wrap each other's errors: an object in an object, or in a string of one. */
const INNER_KEYS = ['error', 'errors', 'details', 'data', 'body', 'cause', 'response', 'metadata', 'message', 'raw'];
const DEPTH = 5;
const WIDTH = 8;

function layersOf(value: unknown, depth: number): Layer[] {
  if (depth > DEPTH) return [];
  if (typeof value === 'string') return value.trimStart().startsWith('{') ? layersOf(parsed(value), depth + 1) : [];
  if (Array.isArray(value)) return value.slice(0, WIDTH).flatMap((item: unknown) => layersOf(item, depth + 1));
  if (typeof value !== 'object' || value === null) return [];
  const layer = value as Layer;
  return [layer, ...INNER_KEYS.flatMap((key) => layersOf(layer[key], depth + 1))];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function first<T>(layers: readonly Layer[], read: (layer: Layer) => T | null): T | null {
  for (const layer of layers) {
    const found = read(layer);
    if (found !== null) return found;
  }
  return null;
}

function statusIn(layer: Layer): number | null {
  for (const key of STATUS_KEYS) {
    const value = layer[key];
    const status = typeof value === 'string' && /^\d{3}$/.test(value) ? Number(value) : value;
    if (typeof status === 'number' && Number.isInteger(status) && status >= 400 && status < 600) return status;
  }
  return null;
}

const nameIn = (value: unknown): string[] => (typeof value === 'string' && isName(value) ? [value] : []);

function sentencesIn(layer: Layer): string[] {
  return SENTENCE_KEYS.flatMap((key) => {
    const value = layer[key];
    return typeof value === 'string' && !value.trimStart().startsWith('{') ? [value] : [];
  });
}

/** One word, without digits: nothing that could be a text of somebody, or a key. */
const isName = (value: string): boolean => /^[a-z][a-z_.#-]{2,79}$/i.test(value) && value !== 'error';
