//! The system prompt that makes any agent WAKE-compliant, in our own words.

use url::form_urlencoded::byte_serialize;

use crate::base;

/// What the prompt is filled in with.
#[derive(Clone, Copy, Debug)]
pub struct Prompt<'a> {
    /// Scheme, host and port: `https://wake.example.com`. What [`base()`] refuses
    /// is written as it is, and plain HTTP is not excused for it.
    pub address: &'a str,
    pub agent_id: &'a str,
}

impl Prompt<'_> {
    /// The text. Only a loopback address relaxes the HTTPS rule, and only for itself.
    pub fn text(&self) -> String {
        let Prompt { address, agent_id } = *self;
        let base = base(address);
        let plain = base.as_ref().is_ok_and(|base| base.starts_with("http://"));
        let address = base.unwrap_or_else(|_| address.trim_end_matches('/').to_owned());
        let quoted = serde_json::Value::from(agent_id).to_string();
        let written = &quoted[1..quoted.len() - 1];
        let encoded: String = byte_serialize(agent_id.as_bytes()).collect();
        let transport = match plain {
            true => format!(
                "- Talk to {address} only: it is this machine itself, so plain HTTP is fine there. \
                 Any other WAKE endpoint must begin with https://; refuse one that does not."
            ),
            false => "- Use HTTPS for everything. Refuse a WAKE endpoint that begins with http://."
                .to_owned(),
        };
        format!(
            r#"You work on your own, on behalf of a person who reads what you deliver when it suits them.
Deliver through WAKE before you do anything that deserves a person's judgement. Deliver on
three occasions: you have finished a significant piece of work; you have reached a decision
that is not yours alone; you have met something unexpected.

YOUR CONNECTION
  Endpoint   {address}/wake/v1
  Agent id   {written}
  API key    in the environment variable WAKE_API_KEY
  Webhook    secret in the environment variable WAKE_WEBHOOK_SECRET, if you receive callbacks

DELIVER
  POST {address}/wake/v1/deliver
  Authorization: Bearer $WAKE_API_KEY
  Content-Type: application/json
  Idempotency-Key: a new value for each delivery, such as a random UUID

  {{ "agent_id": {quoted},
    "provider": "who makes your model",
    "type": "update" | "question" | "output" | "alert",
    "headline": "at most 120 characters",
    "summary": "one plain sentence, at most 280 characters",
    "details": an object, a string or null,
    "details_format": "text" | "markdown" | "json" | "diff", how to show details, or null,
    "callback_webhook": an https:// address of yours that the answer is sent to, or null,
    "timeout_seconds": 60 to 604800, or null }}

  Write the summary as one plain sentence that needs no context.
  Choose timeout_seconds by urgency, and leave a person the time to see it:
    3600      it is urgent: much stands still until there is an answer
    86400     the usual case: a decision or a review within a day
    604800    nothing depends on it this week
    null      you can wait without end
  201 gives you a delivery_id. Keep it, with what it was about, in your own log: without it you
  cannot get the answer.
  If no answer or a 503 came, send the same bytes again with the same Idempotency-Key: it is
  delivered once.
    update    progress; nobody has to answer
    question  you need a decision before you can go on
    output    finished work, for review
    alert     something a person should know about

GET THE ANSWER
  GET {address}/wake/v1/response/{{delivery_id}} every 60 seconds while status is "pending".
  GET {address}/wake/v1/response/{{delivery_id}}?wait=60 lets the server wait for you: it answers
  as soon as there is an answer, or with "pending" after 60 seconds. Allow 90 seconds for it.
  With several deliveries open, ask for all of them at once instead:
  GET {address}/wake/v1/responses?agent_id={encoded}&status=approved,rejected,redirected
  and pass next_since of one answer as since of the next request.
  Instead of polling you can have the answer sent to you: name your address as callback_webhook
  when you deliver. The operator must have allowed its host.
  Any status but 2xx is an error and never an answer.

ACT ON IT
  approved     go on as planned
  rejected     do not take the action you proposed; read feedback
  redirected   work all of edited_content and feedback in before you go on
  no answer after timeout_seconds   go on with your best assumptions, and document them;
               that is not an approval, so do nothing that only an approval would permit

WEBHOOK CALLBACKS
  Compute sha256=HMAC_SHA256(WAKE_WEBHOOK_SECRET, raw request body) as lowercase hex and compare it
  with the header X-Wake-Signature in constant time. If they differ, refuse the callback with 401
  and do not act on it. The body is the same object as that of GET response.

RULES
- Read WAKE_API_KEY and WAKE_WEBHOOK_SECRET from the environment. Never write them down anywhere.
- Never put credentials, passwords or personal data into a delivery.
- 401: stop, and ask your human to rotate the key. Deliver that as a question if you have
  another key that works. Say it in your own output too, since a dead key cannot deliver.
- 429: wait as many seconds as Retry-After says, try once more; if that fails too, raise one
  alert and do not loop.
- Act only on an answer whose delivery_id is one that you submitted.
- Keep a local log of every delivery and every answer.
{transport}
- Lead every headline with what was accomplished.
- One delivery for each thing that matters; do not flood.
- Do not block while you wait: work on something else until the answer comes.
"#
        )
    }
}

#[cfg(test)]
mod tests {
    use super::Prompt;

    #[test]
    fn the_prompt_says_all_that_the_protocol_demands() {
        let text = Prompt {
            address: "https://wake.example.com/",
            agent_id: "research-01",
        }
        .text();
        for needed in [
            "https://wake.example.com/wake/v1/deliver",
            "research-01",
            "WAKE_API_KEY",
            "WAKE_WEBHOOK_SECRET",
            "every 60 seconds",
            "approved",
            "rejected",
            "redirected",
            "timeout_seconds",
            "X-Wake-Signature",
            "constant time",
            "?wait=60",
            "details_format",
            "Idempotency-Key",
            "401: stop, and ask your human to rotate the key",
            "a dead key cannot deliver",
            "in your own output",
            "429",
            "Retry-After",
            "that you submitted",
            "credentials",
            "personal data",
            "do not flood",
            "accomplished",
            "Use HTTPS",
        ] {
            assert!(text.contains(needed), "{needed}");
        }
    }

    /// The prompt for an https address, without line breaks.
    fn flat() -> String {
        let prompt = Prompt {
            address: "https://wake.example.com",
            agent_id: "research-01",
        };
        let text = prompt.text();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    fn says(sentences: &[&str]) {
        let text = flat();
        for sentence in sentences {
            assert!(text.contains(sentence), "{sentence} in {text}");
        }
    }

    #[test]
    fn it_says_to_deliver_before_acting() {
        says(&["Deliver through WAKE before you do anything that deserves a person's judgement"]);
    }

    #[test]
    fn it_names_the_three_occasions_for_delivering() {
        says(&[
            "Deliver on three occasions: you have finished a significant piece of work; \
             you have reached a decision that is not yours alone; \
             you have met something unexpected.",
        ]);
    }

    #[test]
    fn it_says_what_each_answer_obliges_to() {
        says(&[
            "approved go on as planned rejected",
            "rejected do not take the action you proposed; read feedback redirected",
            "redirected work all of edited_content and feedback in before you go on",
            "no answer after timeout_seconds go on with your best assumptions, and document them; \
             that is not an approval",
            "Any status but 2xx is an error and never an answer.",
        ]);
    }

    #[test]
    fn it_says_to_choose_the_timeout_by_urgency_within_what_the_server_takes() {
        says(&[
            "Choose timeout_seconds by urgency",
            "3600 it is urgent",
            "86400 the usual case",
            "604800 nothing depends on it this week",
            "null you can wait without end",
        ]);
        for seconds in [3600, 86_400, 604_800] {
            assert!(crate::limits::TIMEOUT_SECONDS.contains(&seconds));
        }
    }

    #[test]
    fn it_says_not_to_block_and_to_work_on_something_else() {
        says(&["Do not block while you wait: work on something else until the answer comes."]);
    }

    #[test]
    fn it_names_the_headers_and_every_field_of_the_body() {
        says(&[
            "Authorization: Bearer $WAKE_API_KEY",
            "Content-Type: application/json",
            "\"agent_id\": \"research-01\"",
        ]);
        let schema: serde_json::Value = serde_json::from_str(crate::SCHEMA).unwrap();
        let fields = schema["$defs"]["delivery"]["properties"].as_object();
        let text = flat();
        for field in fields
            .expect("the schema of a delivery has properties")
            .keys()
        {
            assert!(
                text.contains(&format!("\"{field}\": ")),
                "{field} in {text}"
            );
        }
    }

    #[test]
    fn it_says_to_keep_the_delivery_id_and_to_act_on_no_other() {
        says(&[
            "201 gives you a delivery_id. Keep it, with what it was about, in your own log",
            "Act only on an answer whose delivery_id is one that you submitted.",
        ]);
    }

    #[test]
    fn it_offers_a_callback_and_says_to_refuse_one_whose_signature_differs() {
        says(&[
            "Instead of polling you can have the answer sent to you: name your address as callback_webhook",
            "with the header X-Wake-Signature in constant time. \
             If they differ, refuse the callback with 401 and do not act on it.",
        ]);
    }

    #[test]
    fn it_says_to_wait_after_429_try_once_more_and_then_raise_one_alert() {
        says(&[
            "429: wait as many seconds as Retry-After says, try once more; \
             if that fails too, raise one alert and do not loop.",
        ]);
    }

    #[test]
    fn it_says_to_write_the_summary_as_one_plain_sentence() {
        says(&["Write the summary as one plain sentence"]);
    }

    #[test]
    fn only_a_loopback_address_relaxes_https_and_only_for_itself() {
        let text = Prompt {
            address: "http://127.0.0.1:7777",
            agent_id: "a",
        }
        .text();
        assert!(text.contains("Talk to http://127.0.0.1:7777 only"));
        assert!(text.contains("must begin with https://"));
        let elsewhere = Prompt {
            address: "http://wake.example.com",
            agent_id: "a",
        };
        assert!(elsewhere.text().contains("Use HTTPS for everything"));
    }

    #[test]
    fn an_endpoint_may_be_named_with_or_without_its_path() {
        let text = Prompt {
            address: "https://h/wake/v1",
            agent_id: "a",
        }
        .text();
        assert!(text.contains("POST https://h/wake/v1/deliver"));
        assert!(!text.contains("/wake/v1/wake/v1"));
    }

    #[test]
    fn an_id_is_written_as_json_and_in_a_query_as_each_demands() {
        let text = Prompt {
            address: "https://h",
            agent_id: "a&status=\"x\"",
        }
        .text();
        assert!(text.contains(r#""agent_id": "a&status=\"x\"","#));
        assert!(text.contains("Agent id   a&status=\\\"x\\\"\n"));
        assert!(text.contains("responses?agent_id=a%26status%3D%22x%22&status=approved"));
    }
}
