import type { FailureCode } from '../../../machines/protocol.ts';

/** What providers, their client libraries and Node call a failure. Compared without regard to case and punctuation. */
const NAMES: Partial<Record<FailureCode, string>> = {
  'rate-limited': `
    rate_limit rate_limited rate_limit_error rate_limit_exceeded rate_limit_reached user_rate_limit_exceeded
    request_limit_exceeded daily_limit_exceeded concurrency_limit_exceeded too_many_requests TooManyRequestsException
    throttled throttling throttling_error ThrottlingException quota_exceeded insufficient_quota resource_exhausted
    ServiceQuotaExceededException usage_limit_reached usage_limit_exceeded billing_error billing_hard_limit_reached
    insufficient_credits insufficient_funds insufficient_balance payment_required`,
  auth: `
    authentication_error authentication_failed invalid_authentication invalid_api_key api_key_invalid incorrect_api_key
    unauthorized unauthenticated permission_denied permission_error forbidden access_denied AccessDeniedException
    token_expired expired_token ExpiredTokenException invalid_token invalid_grant UnrecognizedClientException
    InvalidSignatureException account_deactivated`,
  'context-overflow': `
    context_length_exceeded context_window_exceeded model_context_window_exceeded exceed_context_size_error
    request_too_large prompt_too_long input_too_long token_limit_exceeded`,
  'model-timeout': `
    timeout timeout_error request_timeout deadline_exceeded ModelTimeoutException api_timeout_error
    api_connection_timeout_error ETIMEDOUT ESOCKETTIMEDOUT UND_ERR_CONNECT_TIMEOUT UND_ERR_HEADERS_TIMEOUT
    UND_ERR_BODY_TIMEOUT`,
  'model-unavailable': `
    overloaded overloaded_error engine_overloaded server_overloaded model_overloaded unavailable service_unavailable
    service_unavailable_error ServiceUnavailableException server_error internal internal_error internal_server_error
    InternalServerException bad_gateway gateway_timeout network_error api_connection_error ModelNotReadyException
    ModelErrorException ModelStreamErrorException model_not_found model_not_found_error model_not_available
    model_unavailable model_not_supported model_disabled model_deprecated unknown_model deployment_not_found
    ECONNREFUSED ECONNRESET ECONNABORTED ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH UND_ERR_SOCKET`,
  'tool-unavailable': 'tool_unavailable tool_not_available tools_unavailable required_tool_unavailable missing_tool',
};

const CODES: ReadonlyMap<string, FailureCode> = new Map(
  (Object.entries(NAMES) as [FailureCode, string][]).flatMap(([code, names]) =>
    names
      .trim()
      .split(/\s+/)
      .map((name): [string, FailureCode] => [bare(name), code]),
  ),
);

/** Our code for a provider's error code; null when it is none we know. */
export function codeOfName(name: string): FailureCode | null {
  return CODES.get(bare(name)) ?? null;
}

/** Our code for an HTTP status that says enough alone; null for those that say "bad request" in one way or another. */
export function codeOfStatus(status: number): FailureCode | null {
  switch (status) {
    case 401:
    case 403:
      return 'auth';
    case 402:
    case 429:
      return 'rate-limited';
    case 408:
      return 'model-timeout';
    case 413:
      return 'context-overflow';
    default:
      return status >= 500 ? 'model-unavailable' : null;
  }
}

/** `com.example#RateLimitError` and `rate_limit_error` are the same. */
function bare(name: string): string {
  return name
    .replace(/^.*#/, '')
    .toLowerCase()
    .replaceAll(/[^a-z]/g, '');
}
