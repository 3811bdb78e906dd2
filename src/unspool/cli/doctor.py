def doctor(): "Doc"
