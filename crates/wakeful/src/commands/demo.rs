//! A server with a crew that really works over HTTP, in a throw-away directory.

use anyhow::{Context as _, Result};
use server::{
    App, Settings,
    serve::{self, Bound},
};

use crate::{
    Ending,
    cli::Demo,
    commands::serve::shutdown,
    crew::Crew,
    house,
    output::{print, say},
};

pub async fn demo(demo: Demo) -> Result<Ending> {
    let directory = tempfile::Builder::new().prefix("wakeful-demo-").tempdir()?;
    let data = directory.path().to_owned();
    let lock = house::lock(&data)?;
    let engine = house::start(&data, None).await?;
    let bound = Bound::new(demo.listen, None)
        .await
        .with_context(|| {
            format!(
                "could not listen on {}; choose another with --listen",
                demo.listen
            )
        })?
        .with_socket(data.join(house::SOCKET))?;
    let address = format!("http://{}", bound.address()?);
    let settings = Settings {
        address: address.clone(),
        ..Settings::default()
    };
    let app = App::new(engine, settings);
    let crew = Crew::hire(&app, &address, &data).await?;
    let token = crew.human_token.clone();

    let signal = shutdown()?;
    say(&format!(
        "Wakeful runs with a crew of three agents, in {}.\n\
         Everything is thrown away at the end. Stop it with Ctrl-C.\n\n\
         In a browser, be the human (this link works once):\n\n  {}\n\n\
         Or in another terminal:\n",
        data.display(),
        crew.sign_in
    ));
    print(&format!(
        "export WAKEFUL_DATA={} WAKEFUL_TOKEN={token}",
        data.display()
    ));
    let program =
        std::env::current_exe().map_or("wakeful".to_owned(), |path| path.display().to_string());
    say(&format!(
        "\n  {program} inbox                          what waits for you\n  \
         {program} inbox ID                       one item, whole\n  \
         {program} respond ID approved            or rejected, or redirected --feedback TEXT\n  \
         {program} trail verify                   the record is whole\n"
    ));
    let crew = tokio::spawn(crew.work());
    // The crew goes home first, and does not see its server end.
    let end = async move {
        signal.await;
        crew.abort();
        let _ = crew.await;
    };
    serve::serve(app, bound, end).await;
    drop(lock);
    Ok(Ending::Done)
}
