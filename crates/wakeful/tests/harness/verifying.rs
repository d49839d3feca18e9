//! A callback to a receiver in another language, which must accept what the
//! server signed and refuse it once one byte is other.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::json;

use super::{House, peer::Peer, receiver::Identity};

/// Who delivers with a callback, who answers, and what the receiver shows.
pub struct Callbacks<'a> {
    pub house: &'a House,
    pub person: &'a str,
    pub key: &'a str,
    pub agent: &'a str,
    pub identity: &'a Identity,
}

impl Callbacks<'_> {
    pub async fn are_verified_and_refused_by(&self, mut receiver: Peer) {
        let port = receiver.expect("listening");
        let host = format!("localhost:{port}");
        let networks = ["127.0.0.0/8", "::1/128"];
        self.house.allow_host(&host, &networks, Some(self.identity));

        let url = format!("https://{host}/wake-callback");
        let more = json!({ "callback_webhook": url });
        let id = self.house.deliver(self.key, self.agent, more).await;
        let answer = json!({ "status": "redirected", "feedback": "Shorter.",
                             "edited_content": { "brief": "…", "n": 1.5 } });
        let answered = self.house.respond(self.person, &id, answer.clone()).await;
        assert_eq!(answered.status, 200, "{:?}", answered.json());
        let verified = receiver.expect("verified");
        assert_eq!(verified["delivery_id"], id.as_str());
        assert_eq!(verified["body"]["delivery_id"], id.as_str());
        assert_eq!(verified["body"]["status"], "redirected");
        assert_eq!(verified["body"]["edited_content"], answer["edited_content"]);

        let genuine = STANDARD.decode(verified["raw"].as_str().unwrap()).unwrap();
        let signature = verified["signature"].as_str().unwrap();
        let mut tampered = genuine.clone();
        let place = tampered
            .windows(10)
            .position(|window| window == b"redirected");
        tampered[place.unwrap()] = b'R';
        let trusted = std::fs::read(self.identity.certificate_file()).unwrap();
        let trusted = reqwest::Certificate::from_pem(&trusted).unwrap();
        let http = reqwest::Client::builder()
            .no_proxy()
            .tls_certs_merge([trusted])
            .build()
            .unwrap();
        for (body, status, word) in [(tampered, 401, "refused"), (genuine, 200, "verified")] {
            let sent = http
                .post(&url)
                .header("content-type", "application/json")
                .header("x-wake-signature", signature)
                .header("x-wake-delivery-id", &id)
                .body(body)
                .send();
            assert_eq!(sent.await.unwrap().status(), status);
            receiver.expect(word);
        }
    }
}
