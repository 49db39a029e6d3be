import type { FailureCode } from '../../../machines/protocol.ts';

/**
 * The last resort: what the words of an error say. Narrow on purpose: a word like "auth" or "model" alone decides
 * nothing ("author", "data model"), because a wrong class tries again what cannot succeed, or gives up too soon.
 */
export function codeOfWords(text: string): FailureCode | null {
  // "bash failed (exit 1): connection refused" is about a tool's own work, not about the model.
  if (/^\W*[\w.-]{1,40} failed (?:\(exit \d+\)|with exit code \d+)/i.test(text)) return null;
  return RULES.find(([words]) => words.test(text))?.[1] ?? null;
}

// From the specific to the general; the first that matches decides. Throttled requests speak of tokens as well,
// so they come before the full context. Every gap is bounded: hostile texts cost linear time.
const RULES: readonly [RegExp, FailureCode][] = [
  [/\brate[ _-]?limit(?:s|ed|ing)?\b|\btoo many requests\b|\bthrottl(?:ed|ing)\b/i, 'rate-limited'],
  [
    /\b(?:usage|request|token|daily|weekly|monthly|spend(?:ing)?) limit\b.{0,20}\b(?:reached|exceeded|hit)\b/i,
    'rate-limited',
  ],
  [
    /\b(?:reached|exceeded|hit)\b.{0,30}\b(?:usage|request|daily|weekly|monthly|spend(?:ing)?) limit\b/i,
    'rate-limited',
  ],
  [/(?<!disk )\bquota\b.{0,40}\b(?:exceeded|exhausted|reached)\b/i, 'rate-limited'],
  [/\b(?:exceeded|exceeds|insufficient|exhausted|out of)\b.{0,40}(?<!disk )\bquota\b/i, 'rate-limited'],
  [/\bcredit balance is too low\b|\binsufficient (?:credits?|balance|funds)\b|\bpayment required\b/i, 'rate-limited'],

  [
    /\bprompt (?:is )?too long\b|\binput is too long\b|\btoo many tokens\b|\btoken limit exceeded\b/i,
    'context-overflow',
  ],
  [/\bcontext[ _](?:window|length|size|limit)\b.{0,60}\b(?:exceed\w*|full|too \w+)\b/i, 'context-overflow'],
  [
    /\b(?:exceed\w*|greater than|too large for)\b.{0,60}\bcontext[ _](?:window|length|size|limit)\b/i,
    'context-overflow',
  ],
  [/\bmaximum (?:context|prompt) (?:length|window)\b|\breduce the length of the messages\b/i, 'context-overflow'],
  [/\binput token count\b.{0,60}\bexceeds\b|\bprompt token count\b.{0,40}\bexceeds\b/i, 'context-overflow'],
  [/\bexceeded model token limit\b|^\W*4(?:00|13)\s{0,3}(?:status code)?\s{0,3}\(no body\)/i, 'context-overflow'],

  [/\bunauthori[sz]ed\b|^\W*(?:error:? )?forbidden\b|\bnot (?:logged in|authenticated)\b|\bunauthenticated\b/i, 'auth'],
  [/\bauthentication (?:failed|error|required|credentials)\b/i, 'auth'],
  [
    /\b(?:invalid|incorrect|bad|wrong|expired|missing|revoked|no) (?:[\w-]{1,20} )?(?:api[ _-]?key|credentials|(?:access|auth|api|bearer|refresh) token)\b/i,
    'auth',
  ],
  [
    /\bapi[ _-]?key\b.{0,40}\b(?:not valid|invalid|incorrect|expired|revoked|missing|required|not found|not set)\b/i,
    'auth',
  ],
  [/\btoken (?:has |is )?expired\b|\bexpired token\b/i, 'auth'],

  [
    /\b(?:required )?tools?\b(?: ["'`]?[\w.:-]{1,80}["'`]?)? (?:is |are )?(?:not available|unavailable)\b/i,
    'tool-unavailable',
  ],

  [/\boverloaded\b|\bat capacity\b|\bcold start\b|\bexperiencing high demand\b/i, 'model-unavailable'],
  [
    /\bmodels?\b.{0,80}\b(?:not found|not available|not supported|not enabled|not loaded|unavailable|disabled|does not exist|currently loading)\b/i,
    'model-unavailable',
  ],
  [/\b(?:unknown|unsupported|no such|invalid) (?:model|provider)\b|\bno models? available\b/i, 'model-unavailable'],
  [/\b(?:service|server|provider|backend|temporarily|currently) (?:is )?(?:\w+ )?unavailable\b/i, 'model-unavailable'],
  [/\binternal server error\b|\bbad gateway\b|\bgateway time-?out\b|\bupstream connect error\b/i, 'model-unavailable'],
  [
    /\bstream (?:ended|closed|disconnected) (?:without|before)\b|\bended without (?:sending|finish)/i,
    'model-unavailable',
  ],

  [
    /\b(?:request|response|connection|connect|read|socket|headers|body|stream|model|api|fetch|upstream|inference|operation)\b.{0,30}\b(?:timed out|time-?out)\b|\bdeadline exceeded\b|^\W*(?:error: )?timed out\W*$/i,
    'model-timeout',
  ],

  [
    /\bconnection (?:was )?(?:refused|reset|lost|error|aborted)\b|\bfetch failed\b|\bsocket hang up\b/i,
    'model-unavailable',
  ],
  [/\bnetwork error\b|\bother side closed\b|^\W*terminated\W*$/i, 'model-unavailable'],
];
