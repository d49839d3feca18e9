//! Rules that can be broken on purpose, to show that the simulator notices.
//!
//! A crate lists its rules once, with [`breaks!`](crate::breaks), and has a
//! feature `breaks`, which the simulator alone turns on. Without the feature
//! `is_on` is the constant `false`: the shipped program has neither the switch nor
//! what it would switch.

/// Makes the enum `Break` of these rules, each with the name that the simulator's
/// command line knows it by, and the switch of the crate that calls it.
#[macro_export]
macro_rules! breaks {
    ($($(#[doc = $doc:literal])+ $rule:ident = $name:literal,)+) => {
        /// A rule that can be broken.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Break {
            $($(#[doc = $doc])+ $rule,)+
        }

        #[cfg(feature = "breaks")]
        impl Break {
            pub const ALL: &[Break] = &[$(Break::$rule),+];

            pub fn as_str(self) -> &'static str {
                match self {
                    $(Break::$rule => $name,)+
                }
            }
        }

        #[cfg(feature = "breaks")]
        thread_local! {
            static BROKEN: std::cell::Cell<Option<Break>> = const { std::cell::Cell::new(None) };
        }

        /// Breaks one rule, or none, for everything on this thread.
        #[cfg(feature = "breaks")]
        pub fn set(broken: Option<Break>) {
            BROKEN.set(broken);
        }

        /// Whether this rule is broken.
        #[cfg(feature = "breaks")]
        pub(crate) fn is_on(rule: Break) -> bool {
            BROKEN.get() == Some(rule)
        }

        /// Whether this rule is broken.
        #[cfg(not(feature = "breaks"))]
        pub(crate) const fn is_on(_: Break) -> bool {
            false
        }
    };
}
