//! The prompt for an agent framework: the text, where it goes, and two programs
//! in Python to paste. `wake.py` delivers and waits; `agent.py` hands it and the
//! text to the framework.
//!
//! `cargo xtask frameworks` runs both programs as they are printed here, with the
//! real packages.

use crate::prompt::Prompt;

trail::closed! {
    /// A framework that we have a prompt for.
    Framework {
        Claude = "claude",
        OpenAi = "openai",
        Gemini = "gemini",
        LangGraph = "langgraph",
        CrewAi = "crewai",
        AutoGen = "autogen",
    }
}

/// The name of the file that delivers and waits. `agent.py` imports it by this name.
pub const DELIVERING: &str = "wake.py";
/// The name of the file that hands everything to the framework.
pub const AGENT: &str = "agent.py";

impl Framework {
    /// The name that people read.
    pub fn title(self) -> &'static str {
        match self {
            Framework::Claude => "Claude",
            Framework::OpenAi => "OpenAI",
            Framework::Gemini => "Gemini",
            Framework::LangGraph => "LangGraph",
            Framework::CrewAi => "CrewAI",
            Framework::AutoGen => "AutoGen",
        }
    }

    /// The file that holds the prompt.
    pub fn prompt_file(self) -> &'static str {
        match self {
            Framework::Claude => "CLAUDE.md",
            _ => "wake-prompt.md",
        }
    }

    /// Where the framework takes the prompt, in a sentence.
    pub fn place(self) -> &'static str {
        match self {
            Framework::Claude => {
                "Claude Code reads this file by itself; in your own program it is the argument system=."
            }
            Framework::OpenAi => "It is the argument instructions= of an agent.",
            Framework::Gemini => "It is system_instruction= of the configuration.",
            Framework::LangGraph => "It is the system message of the agent.",
            Framework::CrewAi => "It is the backstory of an agent.",
            Framework::AutoGen => "It is the system_message of an agent.",
        }
    }

    /// The prompt as the framework takes it.
    pub fn prompt(self, prompt: &Prompt<'_>) -> String {
        let text = format!("{}{TOOLS}", prompt.text());
        match self {
            // CrewAI would take it for a value that it has to fill in.
            Framework::CrewAi => text.replace("{delivery_id}", "DELIVERY_ID"),
            _ => text,
        }
    }

    /// The program that delivers and waits.
    pub fn delivering(self) -> String {
        include_str!("framework/wake.py").replace("@provider@", self.as_str())
    }

    /// The program that hands the prompt and the tools to the framework.
    pub fn agent(self) -> &'static str {
        match self {
            Framework::Claude => include_str!("framework/claude.py"),
            Framework::OpenAi => include_str!("framework/openai.py"),
            Framework::Gemini => include_str!("framework/gemini.py"),
            Framework::LangGraph => include_str!("framework/langgraph.py"),
            Framework::CrewAi => include_str!("framework/crewai.py"),
            Framework::AutoGen => include_str!("framework/autogen.py"),
        }
    }

    /// All of it as Markdown: each file's name, what it is for, and its content.
    pub fn guide(self, prompt: &Prompt<'_>) -> String {
        let (title, file, place) = (self.title(), self.prompt_file(), self.place());
        format!(
            "# WAKE for {title}\n\n\
             1. Save the prompt as `{file}`. {place}\n\n```text\n{}```\n\n\
             2. Save what delivers and waits as `{DELIVERING}`. {VARIABLES}\n\n```python\n{}```\n\n\
             3. Give both to the agent, for example as `{AGENT}`. {RUN}\n\n```python\n{}```\n",
            self.prompt(prompt),
            self.delivering(),
            self.agent(),
        )
    }
}

/// What `wake.py` needs to know.
pub const VARIABLES: &str =
    "It reads WAKE_ENDPOINT, WAKE_API_KEY and WAKE_AGENT_ID from the environment.";
/// How `agent.py` is started.
pub const RUN: &str = "AGENT_MODEL names the model; the task is the program's argument.";

/// What a model must know of the two functions in `wake.py`.
const TOOLS: &str = r#"
YOUR TOOLS
  If you have the tools deliver and wait_for_answer, use them in place of the requests under
  DELIVER and GET THE ANSWER. deliver gives you the delivery_id. wait_for_answer gives you the
  answer to it; call it when you can do nothing else before the answer comes. Its status
  "timeout" means that timeout_seconds are over and nobody has decided.
  A tool that fails has given you no answer: never take an error for an approval.
"#;

#[cfg(test)]
mod tests {
    use super::*;

    const PROMPT: Prompt<'_> = Prompt {
        address: "https://wake.example.com",
        agent_id: "research-01",
    };

    #[test]
    fn each_framework_is_found_by_its_name_and_nothing_else_is() {
        for framework in Framework::ALL {
            assert_eq!(Framework::parse(framework.as_str()), Some(framework));
        }
        assert_eq!(Framework::parse("Claude"), None);
        assert_eq!(Framework::parse("llama"), None);
    }

    #[test]
    fn each_guide_holds_three_files_and_says_where_the_prompt_goes() {
        for (framework, place) in [
            (Framework::Claude, "system="),
            (Framework::OpenAi, "instructions="),
            (Framework::Gemini, "system_instruction="),
            (Framework::LangGraph, "system message"),
            (Framework::CrewAi, "backstory"),
            (Framework::AutoGen, "system_message"),
        ] {
            let guide = framework.guide(&PROMPT);
            assert_eq!(guide.matches("\n```").count(), 6, "{guide}");
            for content in [
                framework.prompt(&PROMPT),
                framework.delivering(),
                framework.agent().to_owned(),
            ] {
                assert!(guide.contains(&format!("\n{content}```\n")), "{guide}");
            }
            assert!(framework.place().contains(place));
            let file = framework.prompt_file();
            assert!(framework.agent().contains(&format!("Path(\"{file}\")")));
        }
    }

    #[test]
    fn each_program_names_the_framework_as_its_provider() {
        for framework in Framework::ALL {
            let code = framework.delivering();
            assert!(code.contains(&format!("PROVIDER = \"{}\"", framework.as_str())));
            assert!(!code.contains('@'), "{code}");
        }
    }

    #[test]
    fn the_prompt_for_a_framework_is_the_prompt_and_a_word_on_its_tools() {
        for framework in Framework::ALL {
            let text = framework.prompt(&PROMPT);
            assert!(text.contains("deliver and wait_for_answer"));
            if framework == Framework::CrewAi {
                assert!(text.contains("/wake/v1/response/DELIVERY_ID?wait=60"));
                assert!(!text.contains("{delivery_id}"));
            } else {
                assert!(text.starts_with(&PROMPT.text()));
            }
        }
    }
}
