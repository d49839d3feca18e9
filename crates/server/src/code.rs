//! The codes of the problems that the server itself raises. Those of the rules
//! are where the rules are: `code()` of `wake::Fault`, `inbox::Fault`,
//! `inbox::Rejection` and `account::Rejection`.

trail::closed! {
    /// What programs decide on, where people read the sentence beside it.
    Code {
        AgentKeyRefused = "agent_key_refused",
        AmbiguousLength = "ambiguous_length",
        BadAllowlistEntry = "bad_allowlist_entry",
        BadOverlap = "bad_overlap",
        BadQuery = "bad_query",
        BadRate = "bad_rate",
        BadRetention = "bad_retention",
        BadWebsocketKey = "bad_websocket_key",
        BodyIncomplete = "body_incomplete",
        BodyTooSlow = "body_too_slow",
        Busy = "busy",
        Damaged = "damaged",
        Degraded = "degraded",
        FreshLinkRequired = "fresh_link_required",
        HttpsRequired = "https_required",
        IdempotencyMismatch = "idempotency_mismatch",
        Internal = "internal",
        NotFound = "not_found",
        NotJsonContent = "not_json_content",
        NotThroughProxy = "not_through_proxy",
        OneAtATime = "one_at_a_time",
        OneChange = "one_change",
        OutsideScope = "outside_scope",
        PasswordRequired = "password_required",
        PersonRequired = "person_required",
        PersonTokenRefused = "person_token_refused",
        RateLimited = "rate_limited",
        ReadsLimited = "reads_limited",
        RepeatedParameter = "repeated_parameter",
        RoleRefused = "role_refused",
        SearchesLimited = "searches_limited",
        Stopping = "stopping",
        TooLarge = "too_large",
        TooManyBodies = "too_many_bodies",
        TooManyConnections = "too_many_connections",
        TooManyReads = "too_many_reads",
        TooManyRequests = "too_many_requests",
        TooManyStreams = "too_many_streams",
        TriesLimited = "tries_limited",
        TwoHosts = "two_hosts",
        Unauthenticated = "unauthenticated",
        Unavailable = "unavailable",
        UnknownField = "unknown_field",
        UnknownValue = "unknown_value",
        UpgradeRequired = "upgrade_required",
        WritesLimited = "writes_limited",
        WrongAddress = "wrong_address",
        WrongMethod = "wrong_method",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documents_name_every_code() {
        let document = include_str!("../../../docs/errors.md");
        for code in Code::ALL {
            let code = code.as_str();
            assert!(document.contains(&format!("`{code}`")), "{code}");
        }
    }
}
