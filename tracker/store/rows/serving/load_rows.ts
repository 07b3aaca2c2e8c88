import type { LoadMeasured } from "../../../../core/mod.ts";
import { adds, type Change, moment, type Row } from "../change.ts";

const POINTS = ["mean", "p50", "p90", "p95", "p99"] as const;

/** A step of a load and its requests; one that is recorded twice stands once. */
export function loadRows(record: LoadMeasured, position: number): Change[] {
  const { study_id, server, step, at, type: _, summary, requests, ...asked } = record;
  const where = { study_id, server };
  const { first_token, between_tokens, latency, seconds, requests: answered, ...figures } = summary;
  const spread = (name: string, points: typeof latency): Row =>
    Object.fromEntries(POINTS.map((point) => [`${name}_${point}_ms`, points[point]]));
  return [
    ...adds("loads", [{
      ...{ ...where, load_step: step, position, happened_at: moment(at) },
      ...{ ...asked, ...figures, requests: answered, load_seconds: seconds },
      ...spread("first_token", first_token),
      ...spread("between_tokens", between_tokens),
      ...spread("request", latency),
    }]),
    ...adds(
      "load_requests",
      requests.map(({ number, latency_ms, error, ...one }) => ({
        ...{ ...where, load_step: step, position, request: number },
        ...{ ...one, request_ms: latency_ms, request_error: error },
      })),
    ),
  ];
}
